// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__CUDACC__)
#define MXGEMM_HOST_DEVICE __host__ __device__
#else
#define MXGEMM_HOST_DEVICE
#endif

// Functions of src/formats have internal linkage: a weak copy compiled with AVX-512 flags could be
// the one that the linker keeps for everybody (tests/abi checks that no ISA object defines a weak
// symbol).
#define MXGEMM_FORMAT_FN MXGEMM_HOST_DEVICE static constexpr

// For functions that read a table: device code has no access to host constants.
#define MXGEMM_HOST_FORMAT_FN static constexpr
