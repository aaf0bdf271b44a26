// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <mxgemm/mxgemm.hpp>

int main() try {
  std::printf("mxgemm %s on %s\n", mxgemm_version(), mxgemm::Device{}.info().arch);
  return 0;
} catch (const mxgemm::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
