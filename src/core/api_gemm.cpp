// SPDX-License-Identifier: Apache-2.0
// The C functions of GEMM: plan, explain, run, the one-shot call.
#include <memory>
#include <string>

#include "base/require.hpp"
#include "core/buffers.hpp"
#include "core/desc.hpp"
#include "core/device.hpp"
#include "core/environment.hpp"
#include "core/guard.hpp"
#include "core/one_shot.hpp"
#include "core/plan.hpp"
#include "core/text.hpp"
#include "mxgemm/mxgemm.h"

using namespace mxgemm::internal;

namespace {

Status check_problem(const mxgemm_gemm_desc* desc) {
  MXGEMM_TRY(check_desc(desc));
  MXGEMM_TRY(check_device(kDescDevice, desc->device_kind, desc->device_index));
  return check_threads();
}

}  // namespace

mxgemm_status mxgemm_plan_create(const mxgemm_gemm_desc* desc, const char* kernel_id,
                                 mxgemm_plan** plan) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("plan", plan));
    *plan = nullptr;
    MXGEMM_TRY(check_problem(desc));
    Selection selection;
    MXGEMM_TRY(current_selection(*desc, kernel_id, &selection));
    auto made = std::make_unique<mxgemm_plan>();
    MXGEMM_TRY(make_plan(Registry::instance(), selection, *desc, &made->plan));
    *plan = made.release();
    return {};
  });
}

void mxgemm_plan_destroy(mxgemm_plan* plan) {
  delete plan;
}

mxgemm_status mxgemm_plan_name(const mxgemm_plan* plan, char* buffer, size_t capacity,
                               size_t* needed) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("plan", plan));
    return write_text(plan->plan.entry->id, buffer, capacity, needed);
  });
}

mxgemm_status mxgemm_plan_workspace_size(const mxgemm_plan* plan, uint64_t* bytes) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("plan", plan));
    MXGEMM_TRY(check_not_null("bytes", bytes));
    *bytes = plan->plan.workspace_size;
    return {};
  });
}

mxgemm_status mxgemm_plan_explain(const mxgemm_plan* plan, char* buffer, size_t capacity,
                                  size_t* needed) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("plan", plan));
    std::string text;
    MXGEMM_TRY(explain(Registry::instance(), plan->plan.selection, plan->plan.desc, &text));
    return write_text(text, buffer, capacity, needed);
  });
}

mxgemm_status mxgemm_explain(const mxgemm_gemm_desc* desc, char* buffer, size_t capacity,
                             size_t* needed) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_problem(desc));
    Selection selection;
    MXGEMM_TRY(current_selection(*desc, nullptr, &selection));
    MXGEMM_TRY(check_selection(Registry::instance(), selection));
    std::string text;
    MXGEMM_TRY(explain(Registry::instance(), selection, *desc, &text));
    return write_text(text, buffer, capacity, needed);
  });
}

mxgemm_status mxgemm_kernel_accepts(int32_t index, const mxgemm_gemm_desc* desc, int32_t* accepts,
                                    char* buffer, size_t capacity, size_t* needed) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("accepts", accepts));
    const RegisteredKernel* entry = nullptr;
    MXGEMM_TRY(Registry::instance().at(index, &entry));
    MXGEMM_TRY(check_problem(desc));
    Selection selection;
    MXGEMM_TRY(isa_limit(&selection.isa));
    MXGEMM_TRY(device_capability(desc->device_kind, desc->device_index, &selection.capability));
    const std::string reason = refusal(*entry, *desc, selection);
    *accepts = reason.empty() ? 1 : 0;
    return write_text(reason, buffer, capacity, needed);
  });
}

mxgemm_status mxgemm_run(const mxgemm_plan* plan, const mxgemm_gemm_args* args, void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("plan", plan));
    return run_plan(plan->plan, args, stream);
  });
}

mxgemm_status mxgemm_gemm(const mxgemm_gemm_desc* desc, const mxgemm_gemm_args* args,
                          void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_problem(desc));
    return run_one_shot(*desc, args, stream);
  });
}
