// SPDX-License-Identifier: Apache-2.0
// Everything the emulated runtime knows, behind one lock.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "exec/global_memory.hpp"
#include "exec/launch.hpp"
#include "exec/options.hpp"
#include "runtime/device_spec.hpp"
#include "runtime/fault_plan.hpp"
#include "runtime/registry.hpp"
#include "runtime/work.hpp"

namespace emu::runtime {

struct Capture;
struct Graph;
struct GraphExec;
struct GraphNode;

struct Stream {
  int device = 0;
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  uint64_t id = 0;
  // Ordered with the legacy default stream of its device.
  bool is_blocking() const { return (flags & cudaStreamNonBlocking) == 0 && !is_per_thread; }
  bool is_legacy = false;
  bool is_per_thread = false;
  WorkPtr last;
  std::shared_ptr<Capture> capture;      // null: not capturing
  std::vector<GraphNode*> capture_ends;  // what the next captured node depends on
};
using StreamPtr = std::shared_ptr<Stream>;

struct Event {
  int device = 0;
  unsigned flags = cudaEventDefault;
  bool recorded = false;
  WorkPtr work;                      // of the last record
  std::shared_ptr<Capture> capture;  // of the last record, if its stream was capturing
  std::vector<GraphNode*> capture_ends;
};
using EventPtr = std::shared_ptr<Event>;

struct MemoryPool {
  int device = 0;
  uint64_t release_threshold = 0;
  std::map<cudaMemPoolAttr, int> flags;  // that were set; all are on at first
};

struct Device {
  DeviceSpec spec;
  cudaError_t sticky = cudaSuccess;
  std::set<int> peers;  // whose memory its kernels may touch
  StreamPtr legacy;
  cudaMemPool_t default_pool = nullptr;  // made when asked for
  cudaMemPool_t pool = nullptr;          // null: the default
  std::vector<WorkPtr> orphans;          // last work of blocking streams that were destroyed
};

// Per host thread.
struct ThreadState {
  int device = 0;
  std::vector<int> pushed_over;  // devices that contexts were pushed on top of
  cudaError_t last_error = cudaSuccess;
  bool in_host_function = false;
  bool per_thread_default = false;  // called through a _ptsz or _ptds name
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  std::map<int, StreamPtr> default_streams;  // cudaStreamPerThread, by device
  struct Configuration {
    dim3 grid;
    dim3 cta;
    size_t shared;
    cudaStream_t stream;
  };
  std::vector<Configuration> configurations;
};
ThreadState& this_thread();

class Runtime {
 public:
  Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  std::mutex mutex;
  std::string configuration_error;  // every call fails with it
  Options options;
  GlobalMemory memory;
  std::vector<Device> devices;
  FaultPlan faults;
  Registry registry;
  std::unique_ptr<Executor> executor;
  std::string forced_image;  // EMU_IMAGE
  std::string mutation;      // EMU_MUTATE

  // Handles are never used again, so that one that was destroyed is always recognised.
  std::map<const void*, StreamPtr> streams;
  std::map<const void*, EventPtr> events;
  std::map<const void*, MemoryPool> pools;
  std::map<const void*, std::unique_ptr<Graph>> graphs;
  std::map<const void*, std::unique_ptr<GraphExec>> graph_execs;
  std::set<std::shared_ptr<Capture>> captures;  // those that have not ended
  uint64_t next_id = 1;
  uint64_t next_grid = 1;

  struct Counters {
    uint64_t calls = 0;
    uint64_t launches = 0;
    uint64_t faults = 0;
  } counters;
  std::atomic<uint64_t> kernels_run = 0;  // counted without the lock
  std::string last_report;

  // One line on stderr, kept as the last report.
  void report(const std::string& text);

  // Settings of this layer, as the environment or the C interface gives them; empty, or why not.
  std::string set_devices(const std::string& text);
  std::string set_faults(const std::string& text);
  std::string set_stream_policy(const std::string& text);
  std::string set_protection(const std::string& text);

  template <typename Handle>
  Handle make_handle() {
    // Not an address of this machine: who dereferences a handle faults.
    constexpr uint64_t kMark = uint64_t{0x5A} << 56;
    return reinterpret_cast<Handle>(kMark | next_id++ << 4);
  }

 private:
  void make_executor();
};

// Made by the first call and never destroyed: libraries unregister themselves at exit.
Runtime& process_runtime();

}  // namespace emu::runtime
