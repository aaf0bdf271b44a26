# SPDX-License-Identifier: Apache-2.0
# 64-bit Arm with Debian's cross compiler (package g++-aarch64-linux-gnu); programs run under qemu-user where it is
# installed. Headers and libraries come from the cross compiler's own folder only: Debian's /usr/include holds headers of
# this machine's architecture.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(MXGEMM_QEMU_AARCH64 qemu-aarch64)
if(MXGEMM_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${MXGEMM_QEMU_AARCH64} -L /usr/aarch64-linux-gnu)
endif()
