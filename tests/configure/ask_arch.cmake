# SPDX-License-Identifier: Apache-2.0
# Asks the rules of cmake/MxgemmCudaArch.cmake: ARCH with an nvcc of version NVCC, or ARCHS as MXGEMM_CUDA_ARCHS.
cmake_policy(VERSION 3.25)
include(${SOURCE_DIR}/cmake/MxgemmCudaArch.cmake)
set(CMAKE_CUDA_COMPILER_VERSION ${NVCC})
if(ARCHS)
  mxgemm_check_cuda_archs("${ARCHS}" "sm80;sm120f")
  message(STATUS "the list is right")
else()
  mxgemm_resolve_cuda_arch(${ARCH} resolved)
  message(STATUS "resolved=${resolved}")
endif()
