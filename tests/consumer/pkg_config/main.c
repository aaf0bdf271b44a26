/* SPDX-License-Identifier: Apache-2.0 */
#include <mxgemm/mxgemm.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  printf("mxgemm %s\n", mxgemm_version());
  return strcmp(mxgemm_version(), MXGEMM_VERSION_STRING) == 0 ? 0 : 1;
}
