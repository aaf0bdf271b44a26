// SPDX-License-Identifier: Apache-2.0
// Whether a launch may run: the rules that a real runtime applies before anything starts.
#include <algorithm>
#include <climits>

#include "check/registration.hpp"
#include "runtime/launch.hpp"

namespace emu::runtime {
namespace {

constexpr unsigned kMaxCtaZ = 64;
constexpr unsigned kMaxGridYz = 65535;
constexpr uint64_t kPortableCluster = 8;
constexpr uint64_t kLargestCluster = 16;
constexpr uint32_t kMaxParameterBytes = 32764;

std::string text_of(const dim3& dims) {
  return std::to_string(dims.x) + " x " + std::to_string(dims.y) + " x " + std::to_string(dims.z);
}

uint64_t count_of(const dim3& dims) {
  return uint64_t{dims.x} * dims.y * dims.z;
}

bool equals(const dim3& dims, const uint32_t (&other)[3]) {
  return dims.x == other[0] && dims.y == std::max(other[1], 1U) && dims.z == std::max(other[2], 1U);
}

cudaError_t cta_error(Session& s, const std::string& name, const Code& code,
                      const LaunchShape& shape) {
  const uint64_t threads = count_of(shape.cta);
  if (threads == 0 || threads > kMaxThreadsPerBlock || shape.cta.x > kMaxThreadsPerBlock ||
      shape.cta.y > kMaxThreadsPerBlock || shape.cta.z > kMaxCtaZ) {
    return s.fail(cudaErrorInvalidConfiguration,
                  name + ": a CTA of " + text_of(shape.cta) +
                      " threads; allowed are 1..1024 in all, z up to 64");
  }
  const uint32_t(&required)[3] = code.function->reqntid;
  if (required[0] != 0 && !equals(shape.cta, required)) {
    return s.fail(
        cudaErrorInvalidConfiguration,
        name + ": a CTA of " + text_of(shape.cta) + " threads; the kernel requires " +
            text_of(dim3(required[0], std::max(required[1], 1U), std::max(required[2], 1U))));
  }
  if (threads > static_cast<uint64_t>(max_threads(code))) {
    return s.fail(cudaErrorLaunchOutOfResources,
                  name + ": a CTA of " + std::to_string(threads) +
                      " threads; the kernel is compiled for at most " +
                      std::to_string(max_threads(code)));
  }
  const uint32_t registers = s.rt.options.registers.of(code);
  if (allocated_registers(registers, threads) > kRegistersPerBlock) {
    return s.fail(cudaErrorLaunchOutOfResources,
                  name + ": " + std::to_string(threads) + " threads of " +
                      std::to_string(registers) + " registers; a CTA can have " +
                      std::to_string(kRegistersPerBlock) + " registers");
  }
  return cudaSuccess;
}

cudaError_t grid_error(Session& s, const std::string& name, const LaunchShape& shape) {
  if (count_of(shape.grid) == 0 || shape.grid.x > INT_MAX || shape.grid.y > kMaxGridYz ||
      shape.grid.z > kMaxGridYz) {
    return s.fail(cudaErrorInvalidConfiguration,
                  name + ": a grid of " + text_of(shape.grid) +
                      " CTAs; allowed are x 1..2147483647, y and z 1..65535");
  }
  return cudaSuccess;
}

cudaError_t cluster_error(Session& s, const std::string& name, const LoadedKernel& kernel,
                          const LaunchShape& shape) {
  const uint32_t(&required)[3] = kernel.code->function->reqnctapercluster;
  if (required[0] != 0 && shape.has_cluster && !equals(shape.cluster, required)) {
    return s.fail(cudaErrorInvalidClusterSize,
                  name + ": clusters of " + text_of(shape.cluster) +
                      "; the kernel requires others (.reqnctapercluster)");
  }
  const uint64_t size = count_of(shape.cluster);
  const bool non_portable = kernel.kernel->settings[s.device_index()].non_portable_cluster;
  const uint64_t most = non_portable ? kLargestCluster : kPortableCluster;
  const uint32_t rank_limit = kernel.code->function->maxclusterrank;
  if (size == 0 || size > most || (rank_limit != 0 && size > rank_limit)) {
    return s.fail(
        cudaErrorInvalidClusterSize,
        name + ": clusters of " + text_of(shape.cluster) + "; allowed are 1.." +
            std::to_string(rank_limit != 0 ? std::min<uint64_t>(most, rank_limit) : most) +
            " CTAs" + (non_portable ? "" : " (16 with the non-portable attribute)"));
  }
  if (size > 1 && !s.device().spec.cluster_launch) {
    return s.fail(cudaErrorInvalidClusterSize,
                  name + ": the device has no clusters, " + text_of(shape.cluster) + " asked for");
  }
  if (shape.grid.x % shape.cluster.x != 0 || shape.grid.y % shape.cluster.y != 0 ||
      shape.grid.z % shape.cluster.z != 0) {
    return s.fail(cudaErrorInvalidClusterSize, name + ": a grid of " + text_of(shape.grid) +
                                                   " is no multiple of clusters of " +
                                                   text_of(shape.cluster));
  }
  return cudaSuccess;
}

cudaError_t shared_error(Session& s, const std::string& name, const LoadedKernel& kernel,
                         const LaunchShape& shape) {
  const uint64_t allowed = dynamic_shared_limit(s, *kernel.kernel, *kernel.code);
  if (shape.dynamic_shared > allowed) {
    return s.fail(cudaErrorInvalidValue,
                  name + ": " + std::to_string(shape.dynamic_shared) +
                      " bytes of dynamic shared memory; at most " + std::to_string(allowed) +
                      " (raise it with cudaFuncAttributeMaxDynamicSharedMemorySize)");
  }
  return cudaSuccess;
}

cudaError_t cooperative_error(Session& s, const std::string& name, const LoadedKernel& kernel,
                              const LaunchShape& shape) {
  const DeviceSpec& spec = s.device().spec;
  const auto resident =
      static_cast<uint64_t>(resident_ctas(s, *kernel.code, static_cast<int>(count_of(shape.cta)),
                                          shape.dynamic_shared)) *
      static_cast<uint64_t>(spec.multiprocessors);
  if (shape.cooperative && count_of(shape.grid) > resident) {
    return s.fail(cudaErrorCooperativeLaunchTooLarge,
                  name + ": a cooperative grid of " + std::to_string(count_of(shape.grid)) +
                      " CTAs; the device holds " + std::to_string(resident) + " at once");
  }
  return cudaSuccess;
}

}  // namespace

uint64_t static_shared_bytes(const Code& code) {
  return code.static_shared_end - kReservedSharedPerBlock;
}

int max_threads(const Code& code) {
  const uint32_t(&limit)[3] =
      code.function->reqntid[0] != 0 ? code.function->reqntid : code.function->maxntid;
  if (limit[0] == 0) {
    return kMaxThreadsPerBlock;
  }
  return static_cast<int>(limit[0] * std::max(limit[1], 1U) * std::max(limit[2], 1U));
}

uint64_t dynamic_shared_limit(Session& s, const Kernel& kernel, const Code& code) {
  const auto found = kernel.settings.find(s.device_index());
  const uint64_t raised =
      found == kernel.settings.end() ? 0 : static_cast<uint64_t>(found->second.max_dynamic_shared);
  const uint64_t fixed = static_shared_bytes(code);
  const uint64_t plain = fixed < kSharedPerBlock ? kSharedPerBlock - fixed : 0;
  return std::max(raised, plain);
}

int resident_ctas(Session& s, const Code& code, int threads, uint64_t dynamic_shared) {
  const DeviceSpec& spec = s.device().spec;
  const uint64_t shared = static_shared_bytes(code) + dynamic_shared;
  const int rounded = (threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  if (threads <= 0 || threads > max_threads(code) ||
      shared > static_cast<uint64_t>(spec.shared_per_block_optin)) {
    return 0;
  }
  const auto by_shared = static_cast<int>(static_cast<uint64_t>(spec.shared_per_multiprocessor) /
                                          (shared + kReservedSharedPerBlock));
  const uint64_t registers =
      allocated_registers(s.rt.options.registers.of(code), static_cast<uint64_t>(threads));
  const int by_registers = registers == 0 ? spec.blocks_per_multiprocessor
                                          : static_cast<int>(kRegistersPerBlock / registers);
  return std::min({spec.blocks_per_multiprocessor, spec.threads_per_multiprocessor / rounded,
                   by_shared, by_registers});
}

cudaError_t shape_error(Session& s, const LoadedKernel& kernel, const LaunchShape& shape) {
  const std::string name = check::demangled(kernel.kernel->name);
  if (kernel.code->param_bytes > kMaxParameterBytes) {
    return s.fail(cudaErrorInvalidValue, name + ": " + std::to_string(kernel.code->param_bytes) +
                                             " bytes of parameters; at most " +
                                             std::to_string(kMaxParameterBytes));
  }
  cudaError_t error = cta_error(s, name, *kernel.code, shape);
  if (error == cudaSuccess) {
    error = grid_error(s, name, shape);
  }
  if (error == cudaSuccess) {
    error = cluster_error(s, name, kernel, shape);
  }
  if (error == cudaSuccess) {
    error = shared_error(s, name, kernel, shape);
  }
  return error == cudaSuccess ? cooperative_error(s, name, kernel, shape) : error;
}

}  // namespace emu::runtime
