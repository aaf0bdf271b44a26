/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for the CUDA runtime library that runs nothing and remembers: which kernel stubs were
 * registered, by which shared library, and which function addresses were handed to it afterwards. A
 * real runtime answers "invalid resource handle" to an address that was never registered, or
 * launches another library's kernel; here both become text.
 */
#ifndef MXGEMM_TESTS_ABI_CUDA_RECORDER_H
#define MXGEMM_TESTS_ABI_CUDA_RECORDER_H

#ifdef __cplusplus
extern "C" {
#endif

/* From now on every function that is used must be one that the library with this file name
 * registered: an entry of one library that ends in a kernel of another is a fault though each by
 * itself looks right. */
void mxgemm_recorder_expect(const char* library);
/* From now on this runtime call fails with cudaErrorInvalidResourceHandle ("launch": every launch);
 * "" = none does. */
void mxgemm_recorder_fail(const char* call);
/* Bytes of shared memory that a CTA may ask for; 0 = as many as the largest GPU has. */
void mxgemm_recorder_limit_shared_memory(int bytes);
/* Launches so far. */
int mxgemm_recorder_launches(void);
/* One line per fault so far; "" if there is none. Valid until the next call. */
const char* mxgemm_recorder_faults(void);

#ifdef __cplusplus
}
#endif

#endif
