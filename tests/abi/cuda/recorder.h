/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for the CUDA runtime library that runs nothing and remembers: which kernel stubs were registered, by which
 * shared library, and which function addresses were handed to it afterwards. A real runtime answers "invalid resource
 * handle" to an address that was never registered, or launches another library's kernel; here both become text.
 */
#ifndef MXGEMM_TESTS_ABI_CUDA_RECORDER_H
#define MXGEMM_TESTS_ABI_CUDA_RECORDER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets uses and faults, keeps registrations. */
void mxgemm_recorder_reset(void);
/* Launches since the last reset. */
int mxgemm_recorder_launches(void);
/* Stubs registered so far by the library whose file name contains `library`. */
int mxgemm_recorder_stubs(const char* library);
/* One line per fault since the start (registrations) and since the last reset (uses); "" if there is none. Valid until the
 * next call. */
const char* mxgemm_recorder_faults(void);

#ifdef __cplusplus
}
#endif

#endif
