// SPDX-License-Identifier: Apache-2.0
// Streams run nothing before somebody waits: what a test reads too early is visibly old.
#include <dlfcn.h>

#include <atomic>
#include <deque>
#include <set>
#include <thread>

#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

class Streams : public EmulatedTest {
 protected:
  void SetUp() override {
    EmulatedTest::SetUp();
    ASSERT_EQ(cudaStreamCreateWithFlags(&first_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&blocking_), cudaSuccess);
  }

  // Appends `mark` to log_ when the stream comes to it.
  void mark(cudaStream_t stream, char mark) {
    marks_.push_back({&log_, mark});
    ASSERT_EQ(cudaLaunchHostFunc(
                  stream,
                  [](void* argument) {
                    auto* const each = static_cast<Mark*>(argument);
                    *each->log += each->letter;
                  },
                  &marks_.back()),
              cudaSuccess);
  }

  struct Mark {
    std::string* log;
    char letter;
  };
  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaStream_t blocking_ = nullptr;
  std::string log_;
  std::deque<Mark> marks_;
};

TEST_F(Streams, RunNothingBeforeSomebodyWaits) {
  PinnedArray<int> host(1);
  host[0] = 1;
  DeviceArray<int> device(1);
  PinnedArray<int> back(1);
  back[0] = -1;
  ASSERT_EQ(cudaMemcpyAsync(device.data(), host.data(), 4, cudaMemcpyHostToDevice, first_),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), device.data(), 4, cudaMemcpyDeviceToHost, first_),
            cudaSuccess);
  EXPECT_EQ(back[0], -1);
  host[0] = 2;  // too early: pinned memory is read when the copy runs
  ASSERT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
  EXPECT_EQ(back[0], -1);
  ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(back[0], 2);
}

TEST_F(Streams, PageableMemoryIsReadAtTheCall) {
  int host = 1;
  DeviceArray<int> device(1);
  ASSERT_EQ(cudaMemcpyAsync(device.data(), &host, 4, cudaMemcpyHostToDevice, first_), cudaSuccess);
  host = 2;
  ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(device.get()[0], 1);
}

TEST_F(Streams, RegisteredMemoryIsReadWhenTheCopyRuns) {
  int host = 1;
  ASSERT_EQ(cudaHostRegister(&host, 4, 0), cudaSuccess);
  DeviceArray<int> device(1);
  ASSERT_EQ(cudaMemcpyAsync(device.data(), &host, 4, cudaMemcpyHostToDevice, first_), cudaSuccess);
  host = 2;
  ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(device.get()[0], 2);
  ASSERT_EQ(cudaHostUnregister(&host), cudaSuccess);
}

TEST_F(Streams, EagerRunsAtTheCall) {
  set_option("EMU_STREAMS", "eager");
  DeviceArray<int> device(1);
  PinnedArray<int> back(1);
  ASSERT_EQ(cudaMemsetAsync(device.data(), 1, 4, first_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), device.data(), 4, cudaMemcpyDeviceToHost, first_),
            cudaSuccess);
  EXPECT_EQ(back[0], 0x01010101);
}

TEST_F(Streams, OneStreamKeepsItsOrderAndTwoDoNot) {
  std::set<std::string> seen;
  for (int seed = 1; seed <= 40; ++seed) {
    set_option("EMU_SEED", std::to_string(seed));
    log_.clear();
    mark(first_, 'a');
    mark(first_, 'b');
    mark(second_, 'x');
    mark(second_, 'y');
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_LT(log_.find('a'), log_.find('b'));
    ASSERT_LT(log_.find('x'), log_.find('y'));
    seen.insert(log_);
  }
  EXPECT_EQ(seen.size(), 6u);  // every interleaving
}

TEST_F(Streams, TheSameSeedGivesTheSameOrder) {
  std::string orders[2];
  for (std::string& order : orders) {
    set_option("EMU_SEED", "5");
    log_.clear();
    for (const char letter : {'a', 'b', 'c'}) {
      mark(first_, letter);
      mark(second_, static_cast<char>(letter - 'a' + 'x'));
    }
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    order = log_;
  }
  EXPECT_EQ(orders[0], orders[1]);
}

TEST_F(Streams, TheRandomPolicyRunsSomeThingsEarly) {
  set_option("EMU_STREAMS", "random");
  bool early = false;
  bool late = false;
  for (int round = 0; round < 50; ++round) {
    log_.clear();
    mark(first_, 'a');
    int device;
    cudaGetDevice(&device);
    (log_.empty() ? late : early) = true;
    ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
    ASSERT_EQ(log_, "a");
  }
  EXPECT_TRUE(early);
  EXPECT_TRUE(late);
}

TEST_F(Streams, AnEventOrdersTwoStreams) {
  cudaEvent_t event;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  for (int seed = 1; seed <= 20; ++seed) {
    set_option("EMU_SEED", std::to_string(seed));
    log_.clear();
    mark(first_, 'a');
    ASSERT_EQ(cudaEventRecord(event, first_), cudaSuccess);
    mark(first_, 'b');
    ASSERT_EQ(cudaStreamWaitEvent(second_, event, 0), cudaSuccess);
    mark(second_, 'x');
    ASSERT_EQ(cudaStreamSynchronize(second_), cudaSuccess);
    ASSERT_EQ(log_, "ax");  // and nothing that nobody waits for
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(log_, "axb");
  }
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamWaitEvent(second_, event, 0), cudaErrorInvalidResourceHandle);
}

TEST_F(Streams, AnEventThatWasNeverRecordedHoldsNothingUp) {
  cudaEvent_t event;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(first_, event, 0), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  cudaEventDestroy(event);
}

TEST_F(Streams, TheLegacyStreamIsOrderedWithBlockingStreamsOnly) {
  for (int seed = 1; seed <= 20; ++seed) {
    set_option("EMU_SEED", std::to_string(seed));
    log_.clear();
    mark(blocking_, 'a');
    mark(first_, 'x');
    mark(nullptr, 'b');
    mark(blocking_, 'c');
    ASSERT_EQ(cudaStreamSynchronize(blocking_), cudaSuccess);
    ASSERT_EQ(log_, "abc");
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(log_, "abcx");
  }
}

TEST_F(Streams, TheLegacyStreamWaitsForADestroyedStreamsWork) {
  mark(blocking_, 'a');
  ASSERT_EQ(cudaStreamDestroy(blocking_), cudaSuccess);
  mark(nullptr, 'b');
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(log_, "ab");
}

TEST_F(Streams, PerThreadStreamsAreApartFromTheLegacyOneAndFromEachOther) {
  mark(cudaStreamPerThread, 'a');
  mark(nullptr, 'b');
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(log_, "b");
  std::thread([] { EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess); }).join();
  EXPECT_EQ(log_, "b");
  ASSERT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(log_, "ba");
}

TEST_F(Streams, TheNamesForPerThreadDefaultStreamsExist) {
  const auto synchronize = reinterpret_cast<cudaError_t (*)(cudaStream_t)>(
      dlsym(RTLD_DEFAULT, "cudaStreamSynchronize_ptsz"));
  ASSERT_NE(synchronize, nullptr);
  ASSERT_NE(dlsym(RTLD_DEFAULT, "cudaMemcpy_ptds"), nullptr);
  ASSERT_NE(dlsym(RTLD_DEFAULT, "cudaLaunchKernel_ptsz"), nullptr);
  ASSERT_NE(dlsym(RTLD_DEFAULT, "__cudaLaunchKernel_ptsz"), nullptr);
  mark(cudaStreamPerThread, 'a');
  EXPECT_EQ(synchronize(nullptr), cudaSuccess);
  EXPECT_EQ(log_, "a");
}

TEST_F(Streams, QueriesSayNotReadyAndComeToAnEnd) {
  mark(first_, 'a');
  mark(first_, 'b');
  int not_ready = 0;
  while (cudaStreamQuery(first_) == cudaErrorNotReady) {
    ASSERT_LT(++not_ready, 1000);
  }
  EXPECT_GT(not_ready, 0);
  EXPECT_EQ(log_, "ab");
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
}

TEST_F(Streams, EventTimesGrowWithTheWorkAndAreTheSameEveryTime) {
  DeviceArray<char> device(1 << 20);
  cudaEvent_t start;
  cudaEvent_t end;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  float times[2];
  for (float& time : times) {
    ASSERT_EQ(cudaEventRecord(start, first_), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(device.data(), 0, 1 << 20, first_), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(end, first_), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&time, start, end), cudaErrorNotReady);
    ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
    ASSERT_EQ(cudaEventElapsedTime(&time, start, end), cudaSuccess);
  }
  EXPECT_GT(times[0], 0.0f);
  EXPECT_FLOAT_EQ(times[0], times[1]);
  cudaEvent_t untimed;
  ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(untimed, first_), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(times, start, untimed), cudaErrorInvalidResourceHandle);
  for (const cudaEvent_t event : {start, end, untimed}) {
    cudaEventDestroy(event);
  }
}

TEST_F(Streams, CopiesInsideTheDeviceDoNotWait) {
  DeviceArray<int> from(1);
  DeviceArray<int> to(1);
  from.set({5});
  const uint64_t pending = counters().pending;
  ASSERT_EQ(cudaMemcpy(to.data(), from.data(), 4, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(counters().pending, pending + 1);
  ASSERT_EQ(cudaMemset(from.data(), 0, 4), cudaSuccess);
  EXPECT_EQ(counters().pending, pending + 2);
  EXPECT_EQ(to.get()[0], 5);
}

TEST_F(Streams, FreeWaitsForTheWorkOfItsDevice) {
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  mark(first_, 'a');
  ASSERT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(log_, "a");
}

TEST_F(Streams, HostFunctionsMustNotCallTheRuntime) {
  static std::atomic<int> result;
  result = -1;
  ASSERT_EQ(cudaLaunchHostFunc(
                first_, [](void*) { result = cudaDeviceSynchronize(); }, nullptr),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(result, cudaErrorNotPermitted);
  cudaGetLastError();
}

TEST_F(Streams, CallbacksAreToldTheStatus) {
  static std::atomic<int> status;
  status = -1;
  ASSERT_EQ(cudaStreamAddCallback(
                first_, [](cudaStream_t, cudaError_t error, void*) { status = error; }, nullptr, 0),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(first_), cudaSuccess);
  EXPECT_EQ(status, cudaSuccess);
}

TEST_F(Streams, UnknownHandlesAreRefused) {
  ASSERT_EQ(cudaStreamDestroy(second_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(second_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(second_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamQuery(reinterpret_cast<cudaStream_t>(0x1234)),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamCreateWithFlags(&second_, 7), cudaErrorInvalidValue);
}

TEST_F(Streams, FlagsAndPrioritiesAreKept) {
  int least = 1;
  int greatest = 1;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LT(greatest, least);
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 3),
            cudaSuccess);
  int priority = 0;
  unsigned flags = 9;
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  cudaStreamDestroy(stream);
}

TEST_F(Streams, ManyThreadsUseManyStreams) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      cudaSetDevice(thread % 2);
      cudaStream_t stream;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      for (int round = 0; round < 30; ++round) {
        DeviceArray<int> device(64);
        std::vector<int> back(64);
        cudaMemsetAsync(device.data(), thread, 256, stream);
        cudaMemcpyAsync(back.data(), device.data(), 256, cudaMemcpyDeviceToHost, stream);
        wrong += cudaStreamSynchronize(stream) != cudaSuccess;
        wrong += back[63] != thread * 0x01010101;
      }
      cudaStreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace emu::tests
