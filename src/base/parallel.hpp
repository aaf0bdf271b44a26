// SPDX-License-Identifier: Apache-2.0
// How work is spread over threads: a value that the caller of a parallel routine passes in, so that
// routines do not know whose threads they run on.
#pragma once

#include <cstdint>

namespace mxgemm::internal {

// call(context, count, body, argument) runs body(argument, i) once for each i in [0, count), on any
// threads, and returns when all have returned. Same shape as mxgemm_parallel_for_fn.
struct ParallelFor {
  using Body = void (*)(void* argument, int64_t index);
  using Call = void (*)(void* context, int64_t count, Body body, void* argument);

  Call call = nullptr;
  void* context = nullptr;
  int32_t num_threads = 1;  // more indices than this bring nothing

  // `function` is called with each index; it must not throw.
  template <typename Function>
  void operator()(int64_t count, Function& function) const {
    const auto body = [](void* argument, int64_t index) {
      (*static_cast<Function*>(argument))(index);
    };
    if (call == nullptr || count == 1) {
      for (int64_t index = 0; index < count; ++index) {
        function(index);
      }
    } else {
      call(context, count, body, &function);
    }
  }
};

}  // namespace mxgemm::internal
