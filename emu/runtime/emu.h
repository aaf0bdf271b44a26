/* SPDX-License-Identifier: Apache-2.0
 * The emulator's own interface, exported by its libcudart.so.13 next to the CUDA runtime API. Tests
 * find it with dlsym, so that the same binary runs on a real runtime, which has none of these. */
#ifndef EMU_RUNTIME_EMU_H
#define EMU_RUNTIME_EMU_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes a setting by the name of its environment variable (emu/README.md lists them), for what
 * starts from now on; EMU_DEVICES holds from the next emu_reset. Returns 0, or 1 where name or
 * value are not known: emu_last_report says why. */
int emu_set_option(const char* name, const char* value);

/* Waits for all work, frees all memory, forgets errors and counts of injected faults. Streams,
 * events and graphs of before must not be used any more. Returns 0, or 1 while a stream captures.
 */
int emu_reset(void);

/* The last thing that was reported: a fault in a kernel, a refused call. Valid until the calling
 * thread asks again. */
const char* emu_last_report(void);

struct emu_counter_values {
  uint64_t calls;             /* of API functions */
  uint64_t launches;          /* of kernels and graphs */
  uint64_t kernels_run;       /* to their end or fault */
  uint64_t warp_instructions; /* interpreted, and what copies count as */
  uint64_t faults;            /* work that failed */
  uint64_t live_allocations;  /* device memory not freed, on all devices */
  uint64_t live_bytes;
  uint64_t pending; /* work that has not run */
  uint64_t streams; /* not destroyed */
  uint64_t events;
};
void emu_counters(struct emu_counter_values* values);

#ifdef __cplusplus
}
#endif

#endif
