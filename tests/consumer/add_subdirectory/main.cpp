// SPDX-License-Identifier: Apache-2.0
#include <mxgemm/mxgemm.h>

#include <cstdio>

int main() {
  mxgemm_device_info device = MXGEMM_DEVICE_INFO_INIT;
  const mxgemm_status status = mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &device);
  std::printf("mxgemm %s on %s\n", mxgemm_version(), device.arch);
  return status;
}
