// SPDX-License-Identifier: Apache-2.0
#include "isa/bulk_operands.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace emu {
namespace {

template <class T, class F>
void combine(uint8_t* to, const uint8_t* from, uint32_t bytes, F f) {
  for (uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T old;
    T operand;
    std::memcpy(&old, to + at, sizeof(T));
    std::memcpy(&operand, from + at, sizeof(T));
    const T result = f(old, operand);
    std::memcpy(to + at, &result, sizeof(T));
  }
}

template <class T>
void add_elements(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  combine<T>(to, from, bytes, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
void min_elements(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  combine<T>(to, from, bytes, [](T a, T b) { return std::min(a, b); });
}
template <class T>
void max_elements(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  combine<T>(to, from, bytes, [](T a, T b) { return std::max(a, b); });
}
template <class T>
void and_elements(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  combine<T>(to, from, bytes, [](T a, T b) { return static_cast<T>(a & b); });
}
template <class T>
void or_elements(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  combine<T>(to, from, bytes, [](T a, T b) { return static_cast<T>(a | b); });
}
template <class T>
void xor_elements(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  combine<T>(to, from, bytes, [](T a, T b) { return static_cast<T>(a ^ b); });
}

template <class T>
Reduction ordered(size_t operation) {
  constexpr Reduction kByOperation[] = {add_elements<T>, min_elements<T>, max_elements<T>};
  return operation < std::size(kByOperation) ? kByOperation[operation] : nullptr;
}

template <class T>
Reduction bitwise(size_t operation) {
  constexpr Reduction kByOperation[] = {and_elements<T>, or_elements<T>, xor_elements<T>};
  return operation >= 3 && operation < 6 ? kByOperation[operation - 3] : nullptr;
}

Reduction find_reduction(size_t operation, ptx::Type type) {
  switch (type) {
    case ptx::Type::u32:
      return ordered<uint32_t>(operation);
    case ptx::Type::s32:
      return ordered<int32_t>(operation);
    case ptx::Type::u64:
      return ordered<uint64_t>(operation);
    case ptx::Type::s64:
      return ordered<int64_t>(operation);
    case ptx::Type::f32:
      return operation == 0 ? add_elements<float> : nullptr;
    case ptx::Type::f64:
      return operation == 0 ? add_elements<double> : nullptr;
    case ptx::Type::b32:
      return bitwise<uint32_t>(operation);
    case ptx::Type::b64:
      return bitwise<uint64_t>(operation);
    default:
      return nullptr;
  }
}

std::string rank_text(const char* what, const Cta& cta) {
  return std::string(what) + " CTA rank " + std::to_string(cta.rank);
}

// Where the signal for the copy that arrives in `receiver` goes.
MbarrierRef signal_target(ExecContext& ctx, const CopyForm& form, unsigned lane, Cta& receiver,
                          const MbarrierRef& named) {
  uint32_t rank = receiver.rank;
  if (form.pair_signal) {
    rank = (receiver.rank & ~1u) | (named.cta->rank & 1);
  }
  if (rank >= ctx.cluster->ctas.size()) {
    ctx.fault(FaultKind::launch_failure, "the signalled CTA rank is not in the cluster", lane);
    return {};
  }
  return {ctx.cluster->ctas[rank].get(), named.offset};
}

}  // namespace

Reduction take_reduction(DecodeContext& d, ptx::Type type) {
  const auto operation = d.q.take_one_of({"add", "min", "max", "and", "or", "xor"});
  const Reduction reduction = operation ? find_reduction(*operation, type) : nullptr;
  if (reduction == nullptr) {
    d.reject("this operation and type of a bulk reduction are not supported");
  }
  return reduction;
}

bool take_copy_form(DecodeContext& d, CopyForm& form) {
  const ptx::Space destination = d.q.take_space().value_or(ptx::Space::generic);
  const ptx::Space source = d.q.take_space().value_or(ptx::Space::generic);
  const bool to_shared =
      destination == ptx::Space::shared_cta || destination == ptx::Space::shared_cluster;
  if (to_shared && source == ptx::Space::global) {
    form.direction = CopyDirection::global_to_shared;
  } else if (destination == ptx::Space::global && source == ptx::Space::shared_cta) {
    form.direction = CopyDirection::shared_to_global;
  } else if (destination == ptx::Space::shared_cluster && source == ptx::Space::shared_cta) {
    form.direction = CopyDirection::shared_to_shared;
  } else {
    d.reject("the state spaces of a bulk copy");
  }
  form.destination = destination;
  const char* completion = form.direction == CopyDirection::shared_to_global
                               ? "bulk_group"
                               : "mbarrier::complete_tx::bytes";
  if (!d.q.take(completion)) {
    d.reject(std::string("a copy in this direction completes by .") + completion);
  }
  form.multicast = d.q.take("multicast::cluster");
  if (form.multicast && (destination != ptx::Space::shared_cluster ||
                         form.direction != CopyDirection::global_to_shared)) {
    d.reject("multicast goes from .global to .shared::cluster");
  }
  d.q.take("cta_group::1");
  form.pair_signal = d.q.take("cta_group::2");
  return d.q.take("L2::cache_hint");
}

std::vector<LoadTarget> load_targets(ExecContext& ctx, const CopyForm& form, unsigned lane,
                                     uint64_t destination, uint32_t bytes, uint32_t alignment,
                                     uint64_t mbarrier, uint32_t mask) {
  const Place to = ctx.shared_place(form.destination, lane, destination, bytes, alignment);
  if (!to) {
    return {};
  }
  const MbarrierRef named = mbarrier_at(ctx, form.destination, lane, mbarrier, !form.multicast);
  if (!named) {
    return {};
  }
  if (!form.multicast) {
    if (!form.pair_signal && named.cta != to.cta) {
      ctx.fault(FaultKind::launch_failure,
                rank_text("the copy goes to", *to.cta) + ", its mbarrier is in" +
                    rank_text("", *named.cta) + "; that needs .cta_group::2",
                lane);
      return {};
    }
    if (form.pair_signal && (named.cta->rank | 1) != (to.cta->rank | 1)) {
      ctx.fault(FaultKind::launch_failure,
                rank_text("the copy goes to", *to.cta) + ", its mbarrier is in" +
                    rank_text("", *named.cta) + ", which is not of the same pair",
                lane);
      return {};
    }
    return {{to.cta, to.offset, named}};
  }
  const auto cluster_size = static_cast<uint32_t>(ctx.cluster->ctas.size());
  if (mask == 0 || (mask >> cluster_size) != 0) {
    ctx.fault(FaultKind::launch_failure,
              "multicast mask " + std::to_string(mask) + " in a cluster of " +
                  std::to_string(cluster_size) + " CTAs",
              lane);
    return {};
  }
  std::vector<LoadTarget> targets;
  for (uint32_t r = 0; r < cluster_size; ++r) {
    if ((mask >> r & 1) == 0) {
      continue;
    }
    Cta& receiver = *ctx.cluster->ctas[r];
    const MbarrierRef signal = signal_target(ctx, form, lane, receiver, named);
    if (!signal) {
      return {};
    }
    targets.push_back({&receiver, to.offset, signal});
  }
  return targets;
}

Place store_source(ExecContext& ctx, unsigned lane, uint64_t address, uint32_t bytes,
                   uint32_t alignment) {
  return ctx.shared_place(ptx::Space::shared_cta, lane, address, bytes, alignment);
}

}  // namespace emu
