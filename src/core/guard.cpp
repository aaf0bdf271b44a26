// SPDX-License-Identifier: Apache-2.0
#include "core/guard.hpp"

#include <string>

namespace mxgemm::internal {
namespace {

struct LastError {
  std::string message;
  const char* text = "";  // message, or a literal where even the message found no memory
};

thread_local LastError last;

mxgemm_status keep(mxgemm_status code, const char* message) noexcept {
  try {
    last.message = message;
    last.text = last.message.c_str();
  } catch (...) {
    last.text = "out of memory while keeping an error message";
  }
  return code;
}

}  // namespace

const char* last_error() noexcept {
  return last.text;
}

mxgemm_status report(const Status& status) noexcept {
  if (status.ok()) {
    last.text = "";
    return MXGEMM_OK;
  }
  return keep(static_cast<mxgemm_status>(status.code()), status.message().c_str());
}

mxgemm_status report_out_of_memory() noexcept {
  last.text = "out of host memory";
  return MXGEMM_OUT_OF_MEMORY;
}

mxgemm_status report_exception(const char* what) noexcept {
  return keep(MXGEMM_INTERNAL, what);
}

}  // namespace mxgemm::internal
