// SPDX-License-Identifier: Apache-2.0
// A global operator new that counts. In a file of its own: where the compiler sees both ends of an
// allocation it takes malloc's memory in operator delete for a mistake.
#include "abi/loader/counting_new.hpp"

#include <cstdlib>
#include <new>

namespace mxgemm::test {

std::atomic<int> allocations{0};

}  // namespace mxgemm::test

void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) {
    return memory;
  }
  throw std::bad_alloc();
}

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++mxgemm::test::allocations;
  return std::malloc(bytes);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
