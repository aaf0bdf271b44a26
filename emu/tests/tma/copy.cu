// SPDX-License-Identifier: Apache-2.0
// A single tensor copy by one CTA. Shared memory, from a multiple of 1,024 on:
//
//   region  what the copy reads or writes, with bytes around the box that it must leave alone
//
// Memory that a copy may read or write is filled with a pattern first; copy_vectors.py knows it.
// Waits are bounded: a copy that signals fewer bytes than expected must not hang the GPU.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "copy.hpp"

namespace emu::tests {
namespace {

constexpr int kThreads = 128;
constexpr uint32_t kAlign = 1024;  // the 128B swizzle repeats after so many bytes
constexpr uint32_t kTensorSeed = 1;
constexpr uint32_t kRegionSeed = 2;
constexpr int kAttempts = 100;
constexpr uint32_t kAttemptNanoseconds = 1000000;

__host__ __device__ uint32_t pattern_word(uint32_t seed, uint32_t index) {
  const uint32_t word = index * 0x9E3779B1u + seed * 0x7F4A7C15u;
  return word ^ word >> 15;
}

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ bool test(uint32_t barrier, uint32_t parity) {
  uint32_t over = 0;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(over)
      : "r"(barrier), "r"(parity)
      : "memory");
  return over != 0;
}

__device__ bool wait(uint32_t barrier, uint32_t parity) {
  uint32_t over = 0;
  for (int i = 0; i < kAttempts && over == 0; ++i) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(over)
        : "r"(barrier), "r"(parity), "r"(kAttemptNanoseconds)
        : "memory");
  }
  return over != 0;
}

#define LOAD(rank, coordinates)                                                                    \
  asm volatile("cp.async.bulk.tensor." rank                                                        \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " coordinates \
               "], [%2];" ::"r"(box),                                                              \
               "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])  \
               : "memory")
#define STORE(rank, coordinates)                                                                  \
  asm volatile("cp.async.bulk.tensor." rank                                                       \
               ".global.shared::cta.tile.bulk_group [%1, " coordinates "], [%0];" ::"r"(box),     \
               "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]) \
               : "memory")

__device__ void load(int rank, uint32_t box, const CUtensorMap* map, const int32_t (&at)[5],
                     uint32_t barrier) {
  switch (rank) {
    case 1:
      LOAD("1d", "{%3}");
      break;
    case 2:
      LOAD("2d", "{%3, %4}");
      break;
    case 3:
      LOAD("3d", "{%3, %4, %5}");
      break;
    case 4:
      LOAD("4d", "{%3, %4, %5, %6}");
      break;
    default:
      LOAD("5d", "{%3, %4, %5, %6, %7}");
      break;
  }
}

__device__ void store(int rank, uint32_t box, const CUtensorMap* map, const int32_t (&at)[5]) {
  const uint32_t barrier = 0;
  switch (rank) {
    case 1:
      STORE("1d", "{%3}");
      break;
    case 2:
      STORE("2d", "{%3, %4}");
      break;
    case 3:
      STORE("3d", "{%3, %4, %5}");
      break;
    case 4:
      STORE("4d", "{%3, %4, %5, %6}");
      break;
    default:
      STORE("5d", "{%3, %4, %5, %6, %7}");
      break;
  }
}

#undef LOAD
#undef STORE

struct Task {
  int loads;
  int rank;
  uint32_t offset;
  uint32_t region_bytes;
  uint32_t box_bytes;
};

struct Facts {
  uint32_t completed;
  uint32_t nothing_left;
};

// The map is a parameter or, where `global_map` is not null, lies there. `region`: shared memory as
// it is in the end.
__global__ void __launch_bounds__(kThreads)
    copy_once(const __grid_constant__ CUtensorMap parameter_map, const CUtensorMap* global_map,
              Task task, const int32_t* coordinates, uint32_t* region, Facts* facts) {
  extern __shared__ uint8_t dynamic[];
  __shared__ alignas(8) uint64_t barrier_storage;
  uint8_t* const aligned = dynamic + (kAlign - shared_address(dynamic) % kAlign) % kAlign;
  auto* const words = reinterpret_cast<uint32_t*>(aligned);
  const uint32_t box = shared_address(aligned) + task.offset;
  const uint32_t barrier = shared_address(&barrier_storage);
  const int thread = static_cast<int>(threadIdx.x);
  const CUtensorMap* const map = global_map != nullptr ? global_map : &parameter_map;
  for (uint32_t i = threadIdx.x; i < task.region_bytes / 4; i += kThreads) {
    words[i] = pattern_word(kRegionSeed, i);
  }
  if (thread == 0) {
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(
            barrier)
        : "memory");
  }
  // The pattern is in place before the asynchronous proxy reads or overwrites it.
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (thread == 0) {
    int32_t at[5];
    for (int d = 0; d < 5; ++d) {
      at[d] = coordinates[d];
    }
    if (global_map != nullptr) {
      asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(global_map)
                   : "memory");
    }
    if (task.loads != 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                   "r"(task.box_bytes)
                   : "memory");
      load(task.rank, box, map, at, barrier);
    } else {
      store(task.rank, box, map, at);
      asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
  }
  const bool completed = task.loads == 0 || wait(barrier, 0);
  __syncthreads();
  if (thread == 0) {
    // One arrival ends the second phase if and only if no bytes are left over.
    bool nothing_left = task.loads == 0;
    if (task.loads != 0 && completed) {
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
      nothing_left = test(barrier, 1);
    }
    *facts = {completed ? 1u : 0u, nothing_left ? 1u : 0u};
  }
  for (uint32_t i = threadIdx.x; i < task.region_bytes / 4; i += kThreads) {
    region[i] = words[i];
  }
}

// The first error of a number of calls.
class Calls {
 public:
  bool operator()(const char* what, cudaError_t result) {
    if (error_.empty() && result != cudaSuccess) {
      error_ = std::string(what) + ": " + cudaGetErrorName(result);
    }
    return error_.empty();
  }
  bool fail(const std::string& error) {
    error_ = error_.empty() ? error : error_;
    return false;
  }
  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

class Buffer {
 public:
  Buffer(Calls& calls, const std::vector<uint8_t>& bytes) {
    if (calls("cudaMalloc", cudaMalloc(&data_, bytes.size()))) {
      calls("cudaMemcpy", cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    }
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  void read(Calls& calls, void* to, size_t bytes) const {
    calls("cudaMemcpy", cudaMemcpy(to, data_, bytes, cudaMemcpyDeviceToHost));
  }

 private:
  void* data_ = nullptr;
};

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                 const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                 const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// The driver's function, without linking to the driver.
EncodeTiled find_encode_tiled(Calls& calls) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  constexpr unsigned kSince = 12000;
  const bool ok = calls("cudaGetDriverEntryPointByVersion",
                        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                         kSince, cudaEnableDefault, &status));
  if (ok && status != cudaDriverEntryPointSuccess) {
    calls.fail("the driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<EncodeTiled>(function);
}

bool encode(Calls& calls, const Copy& copy, void* tensor, CUtensorMap* map) {
  const EncodeTiled encode_tiled = find_encode_tiled(calls);
  if (!calls.error().empty()) {
    return false;
  }
  // For one dimension, which has none, a pointer all the same: whether it may be null is not said.
  std::vector<uint64_t> strides = copy.strides;
  strides.resize(5);
  const CUresult result = encode_tiled(
      map, static_cast<CUtensorMapDataType>(copy.type), static_cast<cuuint32_t>(copy.dims.size()),
      tensor, copy.dims.data(), strides.data(), copy.box.data(), copy.steps.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(copy.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_NONE, static_cast<CUtensorMapFloatOOBfill>(copy.fill));
  return result == CUDA_SUCCESS ||
         calls.fail("cuTensorMapEncodeTiled: error " + std::to_string(result));
}

std::vector<uint8_t> pattern(uint32_t seed, size_t bytes) {
  std::vector<uint8_t> result(bytes);
  for (size_t at = 0; at < bytes; at += 4) {
    const uint32_t word = pattern_word(seed, static_cast<uint32_t>(at / 4));
    std::memcpy(result.data() + at, &word, 4);
  }
  return result;
}

}  // namespace

CopyResult run_copy(const Copy& copy) {
  CopyResult result;
  Calls calls;
  const Buffer tensor(calls, pattern(kTensorSeed, copy.tensor_bytes));
  const Buffer region(calls, std::vector<uint8_t>(copy.region_bytes));
  const Buffer facts(calls, std::vector<uint8_t>(sizeof(Facts)));
  std::vector<uint8_t> coordinate_bytes(5 * sizeof(int32_t));
  std::memcpy(coordinate_bytes.data(), copy.at.data(), copy.at.size() * sizeof(int32_t));
  const Buffer coordinates(calls, coordinate_bytes);
  alignas(64) CUtensorMap map;
  if (calls.error().empty() && encode(calls, copy, tensor.as<void>(), &map)) {
    std::vector<uint8_t> map_bytes(sizeof map);
    std::memcpy(map_bytes.data(), &map, sizeof map);
    const Buffer global_map(calls, map_bytes);
    const Task task = {copy.loads ? 1 : 0, static_cast<int>(copy.dims.size()), copy.offset,
                       copy.region_bytes, copy.box_bytes};
    copy_once<<<1, kThreads, copy.region_bytes + kAlign>>>(
        map, copy.map_in_global ? global_map.as<CUtensorMap>() : nullptr, task,
        coordinates.as<int32_t>(), region.as<uint32_t>(), facts.as<Facts>());
    calls("launch", cudaGetLastError());
    calls("cudaDeviceSynchronize", cudaDeviceSynchronize());
    Facts read = {};
    facts.read(calls, &read, sizeof read);
    result.completed = read.completed != 0;
    result.nothing_left = read.nothing_left != 0;
    result.bytes.resize(copy.loads ? copy.region_bytes : copy.tensor_bytes);
    (copy.loads ? region : tensor).read(calls, result.bytes.data(), result.bytes.size());
  }
  result.error = calls.error();
  const cudaError_t state = result.error.empty() ? cudaSuccess : cudaDeviceSynchronize();
  if (state != cudaSuccess) {
    result.fault = cudaGetErrorName(state);
  }
  return result;
}

CopyDevice copy_device() {
  CopyDevice device;
  Calls calls;
  cudaDeviceProp properties;
  if (calls("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, 0)) &&
      calls("cudaDriverGetVersion", cudaDriverGetVersion(&device.driver))) {
    device.name = properties.name;
    device.capability = 10 * properties.major + properties.minor;
  }
  device.error = calls.error();
  return device;
}

}  // namespace emu::tests
