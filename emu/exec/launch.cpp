// SPDX-License-Identifier: Apache-2.0
#include "exec/launch.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <thread>

#include "exec/coverage.hpp"
#include "exec/engine.hpp"
#include "exec/report.hpp"

namespace emu {
namespace {

uint32_t round_up(uint32_t value, uint32_t align) {
  return (value + align - 1) / align * align;
}

// Why a request cannot be run at all; the runtime has made the checks that users see.
std::string refuse(const LaunchRequest& r) {
  if (r.kernel == nullptr || r.program == nullptr || r.instance == nullptr || r.memory == nullptr) {
    return "the launch names no kernel, module or memory";
  }
  if (r.params.size() != r.kernel->param_bytes) {
    return "the kernel takes " + std::to_string(r.kernel->param_bytes) +
           " bytes of parameters, not " + std::to_string(r.params.size());
  }
  if (r.block.count() == 0 || r.block.count() > 1024 || r.grid.count() == 0 ||
      r.cluster.count() == 0) {
    return "grid, block and cluster must not be empty, nor a block larger than 1024 threads";
  }
  if (r.grid.x % r.cluster.x != 0 || r.grid.y % r.cluster.y != 0 || r.grid.z % r.cluster.z != 0) {
    return "the grid is no multiple of the cluster";
  }
  constexpr uint64_t kMostClusters = uint64_t{1} << 31;
  if (r.grid.count() / r.cluster.count() > kMostClusters) {
    return "the grid has more than 2^31 clusters";
  }
  return "";
}

void set_up(Grid& grid, const LaunchRequest& request, const Options& options, uint32_t shard,
            uint32_t shards, Random& random) {
  grid.request = &request;
  grid.options = &options;
  grid.kernel = request.kernel;
  grid.allocations = request.memory->snapshot();
  grid.clusters = {request.grid.x / request.cluster.x, request.grid.y / request.cluster.y,
                   request.grid.z / request.cluster.z};
  grid.dynamic_shared =
      round_up(request.kernel->static_shared_end, request.kernel->dynamic_shared_align);
  grid.shared_bytes = grid.dynamic_shared + request.dynamic_shared_bytes;
  const auto clusters = static_cast<uint32_t>(grid.clusters.count());
  for (uint32_t i = clusters; i-- > 0;) {
    if (i % shards == shard) {
      grid.pending.push_back(i);
    }
  }
  if (options.adversarial()) {
    for (size_t i = grid.pending.size(); i > 1; --i) {
      std::swap(grid.pending[i - 1], grid.pending[random.below(static_cast<uint32_t>(i))]);
    }
  }
  grid.clusters_left = grid.pending.size();
  grid.ctas_not_launched_dependents = grid.pending.size() * request.cluster.count();
  if (!options.coverage_file.empty()) {
    for (const auto& code : request.program->functions) {
      grid.executed.emplace_back(code->instrs.size(), 0);
      grid.branches.emplace_back(code->instrs.size(), 0);
    }
  }
}

bool may_run_in_parallel(const LaunchRequest& request) {
  return !request.cooperative &&
         std::none_of(request.program->functions.begin(), request.program->functions.end(),
                      [](const auto& code) { return code->uses_global_atomics; });
}

LaunchResult failed(const Fault& fault) {
  LaunchResult result;
  result.fault = fault;
  return result;
}

void finish(LaunchResult& result, const Grid& grid, const Engine& engine) {
  if (engine.faulted() && result.ok()) {
    result.fault = engine.fault();
  }
  result.steps = std::max(result.steps, engine.steps());
  result.warp_instructions += engine.steps();
  result.thread_instructions += engine.thread_instructions();
  result.printed += grid.printed;
  if (!grid.executed.empty()) {
    record_coverage(grid);
  }
}

void print(const std::string& text) {
  if (!text.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
}

LaunchResult run_shards(const LaunchRequest& request, const Options& options, uint32_t shards) {
  std::vector<std::unique_ptr<Grid>> grids;
  std::vector<std::unique_ptr<Engine>> engines;
  for (uint32_t shard = 0; shard < shards; ++shard) {
    // Each engine has its own stream of choices, so that threads do not make a run unrepeatable.
    Random random(options.seed + shard);
    grids.push_back(std::make_unique<Grid>());
    set_up(*grids.back(), request, options, shard, shards, random);
    engines.push_back(
        std::make_unique<Engine>(std::vector<Grid*>{grids.back().get()}, options, random.next()));
  }
  std::vector<std::thread> threads;
  for (uint32_t shard = 1; shard < shards; ++shard) {
    threads.emplace_back([&engines, shard] { engines[shard]->run(); });
  }
  engines[0]->run();
  for (std::thread& thread : threads) {
    thread.join();
  }
  LaunchResult result;
  for (uint32_t shard = 0; shard < shards; ++shard) {
    finish(result, *grids[shard], *engines[shard]);
  }
  return result;
}

}  // namespace

LaunchResult launch(const LaunchRequest& request, const Options& options) {
  const std::string refusal = refuse(request);
  if (!refusal.empty()) {
    return failed({FaultKind::launch_failure, refusal, "emu: " + refusal + "\n"});
  }
  if (options.trace_launches) {
    std::fprintf(stderr, "emu: launch %s grid (%u, %u, %u) block (%u, %u, %u) device %d\n",
                 demangle(request.kernel->name).c_str(), request.grid.x, request.grid.y,
                 request.grid.z, request.block.x, request.block.y, request.block.z,
                 request.device.index);
  }
  const uint64_t clusters = request.grid.count() / request.cluster.count();
  const auto shards = static_cast<uint32_t>(std::min<uint64_t>(
      may_run_in_parallel(request) ? std::max(options.threads, 1u) : 1, clusters));
  LaunchResult result = run_shards(request, options, shards);
  print(result.printed);
  if (!result.ok()) {
    publish_report(result.fault, options);
  }
  return result;
}

std::vector<LaunchResult> launch_chain(std::span<const LaunchRequest> requests,
                                       const Options& options) {
  std::vector<LaunchResult> results(requests.size());
  if (requests.size() == 1) {
    results[0] = launch(requests[0], options);
    return results;
  }
  Random random(options.seed);
  std::vector<std::unique_ptr<Grid>> grids;
  std::vector<Grid*> list;
  for (const LaunchRequest& request : requests) {
    const std::string refusal = refuse(request);
    if (!refusal.empty()) {
      std::fill(results.begin(), results.end(),
                failed({FaultKind::launch_failure, refusal, "emu: " + refusal + "\n"}));
      return results;
    }
    grids.push_back(std::make_unique<Grid>());
    set_up(*grids.back(), request, options, 0, 1, random);
    grids.back()->previous = list.empty() ? nullptr : list.back();
    list.push_back(grids.back().get());
  }
  Engine engine(list, options, random.next());
  engine.run();
  for (size_t i = 0; i < requests.size(); ++i) {
    results[i].steps = engine.steps();
    results[i].printed = grids[i]->printed;
    print(grids[i]->printed);
    if (engine.faulted() && !grids[i]->complete()) {
      results[i].fault = engine.fault();
    }
    if (!grids[i]->executed.empty()) {
      record_coverage(*grids[i]);
    }
  }
  if (!results.empty()) {
    results[0].warp_instructions = engine.steps();
    results[0].thread_instructions = engine.thread_instructions();
  }
  if (engine.faulted()) {
    publish_report(engine.fault(), options);
  }
  return results;
}

}  // namespace emu
