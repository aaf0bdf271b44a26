// SPDX-License-Identifier: Apache-2.0
// Stands for the CUDA runtime of a machine that has none: linked against, and not found when
// loading.
extern "C" int stub_absent() {
  return 0;
}
