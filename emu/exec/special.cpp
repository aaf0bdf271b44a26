// SPDX-License-Identifier: Apache-2.0
#include "exec/special.hpp"

#include <array>

namespace emu {
namespace {

using Value = uint64_t (*)(const Warp& warp, unsigned lane, uint64_t now);

// Emulated time of one step. Any constant does; this one makes %globaltimer run at a plausible
// speed for code that spins for some microseconds.
constexpr uint64_t kNanosecondsPerStep = 2;

const LaunchRequest& request(const Warp& w) {
  return *w.cta->cluster->grid->request;
}

template <int axis>
uint32_t component(const Dim3& d) {
  return axis == 0 ? d.x : axis == 1 ? d.y : d.z;
}

template <int axis>
uint64_t tid(const Warp& w, unsigned lane, uint64_t) {
  const Dim3& block = request(w).block;
  const uint32_t linear = w.index * kLanes + lane;
  return axis == 0   ? linear % block.x
         : axis == 1 ? linear / block.x % block.y
                     : linear / block.x / block.y;
}
template <int axis>
uint64_t ntid(const Warp& w, unsigned, uint64_t) {
  return component<axis>(request(w).block);
}
template <int axis>
uint64_t ctaid(const Warp& w, unsigned, uint64_t) {
  return w.cta->id[axis];
}
template <int axis>
uint64_t nctaid(const Warp& w, unsigned, uint64_t) {
  return component<axis>(request(w).grid);
}
template <int axis>
uint64_t clusterid(const Warp& w, unsigned, uint64_t) {
  return w.cta->cluster->id[axis];
}
template <int axis>
uint64_t nclusterid(const Warp& w, unsigned, uint64_t) {
  return component<axis>(w.cta->cluster->grid->clusters);
}
template <int axis>
uint64_t cluster_ctaid(const Warp& w, unsigned, uint64_t) {
  return w.cta->id[axis] % component<axis>(request(w).cluster);
}
template <int axis>
uint64_t cluster_nctaid(const Warp& w, unsigned, uint64_t) {
  return component<axis>(request(w).cluster);
}
uint64_t zero(const Warp&, unsigned, uint64_t) {
  return 0;
}
uint64_t one(const Warp&, unsigned, uint64_t) {
  return 1;
}
uint64_t warp_size(const Warp&, unsigned, uint64_t) {
  return kLanes;
}
uint64_t laneid(const Warp&, unsigned lane, uint64_t) {
  return lane;
}
uint64_t warpid(const Warp& w, unsigned, uint64_t) {
  return w.index;
}
uint64_t nwarpid(const Warp& w, unsigned, uint64_t) {
  return request(w).device.max_threads_per_multiprocessor / kLanes;
}
uint64_t mask_eq(const Warp&, unsigned lane, uint64_t) {
  return 1u << lane;
}
uint64_t mask_lt(const Warp&, unsigned lane, uint64_t) {
  return (1u << lane) - 1;
}
uint64_t mask_le(const Warp&, unsigned lane, uint64_t) {
  return (2ull << lane) - 1;
}
uint64_t mask_gt(const Warp&, unsigned lane, uint64_t) {
  return kFullMask & ~((2ull << lane) - 1);
}
uint64_t mask_ge(const Warp&, unsigned lane, uint64_t) {
  return kFullMask & ~((1ull << lane) - 1);
}
uint64_t ctarank(const Warp& w, unsigned, uint64_t) {
  return w.cta->rank;
}
uint64_t nctarank(const Warp& w, unsigned, uint64_t) {
  return request(w).cluster.count();
}
uint64_t explicit_cluster(const Warp& w, unsigned, uint64_t) {
  return request(w).cluster.count() > 1 ? 1 : 0;
}
uint64_t smid(const Warp& w, unsigned, uint64_t) {
  return w.cta->linear % request(w).device.multiprocessors;
}
uint64_t nsmid(const Warp& w, unsigned, uint64_t) {
  return request(w).device.multiprocessors;
}
uint64_t gridid(const Warp& w, unsigned, uint64_t) {
  return request(w).grid_id;
}
uint64_t dynamic_smem(const Warp& w, unsigned, uint64_t) {
  return request(w).dynamic_shared_bytes;
}
uint64_t total_smem(const Warp& w, unsigned, uint64_t) {
  return w.cta->cluster->grid->shared_bytes - kReservedShared;
}
uint64_t clock(const Warp&, unsigned, uint64_t now) {
  return now;
}
uint64_t clock_hi(const Warp&, unsigned, uint64_t now) {
  return now >> 32;
}
uint64_t timer(const Warp&, unsigned, uint64_t now) {
  return now * kNanosecondsPerStep;
}
uint64_t timer_hi(const Warp&, unsigned, uint64_t now) {
  return now * kNanosecondsPerStep >> 32;
}

struct Row {
  std::string_view name;
  Value value;
  bool dynamic = false;
};

constexpr Row kRows[] = {
    {"%tid.x", tid<0>},
    {"%tid.y", tid<1>},
    {"%tid.z", tid<2>},
    {"%tid.w", zero},
    {"%ntid.x", ntid<0>},
    {"%ntid.y", ntid<1>},
    {"%ntid.z", ntid<2>},
    {"%ntid.w", one},
    {"%ctaid.x", ctaid<0>},
    {"%ctaid.y", ctaid<1>},
    {"%ctaid.z", ctaid<2>},
    {"%ctaid.w", zero},
    {"%nctaid.x", nctaid<0>},
    {"%nctaid.y", nctaid<1>},
    {"%nctaid.z", nctaid<2>},
    {"%nctaid.w", one},
    {"%clusterid.x", clusterid<0>},
    {"%clusterid.y", clusterid<1>},
    {"%clusterid.z", clusterid<2>},
    {"%nclusterid.x", nclusterid<0>},
    {"%nclusterid.y", nclusterid<1>},
    {"%nclusterid.z", nclusterid<2>},
    {"%cluster_ctaid.x", cluster_ctaid<0>},
    {"%cluster_ctaid.y", cluster_ctaid<1>},
    {"%cluster_ctaid.z", cluster_ctaid<2>},
    {"%cluster_nctaid.x", cluster_nctaid<0>},
    {"%cluster_nctaid.y", cluster_nctaid<1>},
    {"%cluster_nctaid.z", cluster_nctaid<2>},
    {"%laneid", laneid},
    {"%warpid", warpid},
    {"%nwarpid", nwarpid},
    {"%lanemask_eq", mask_eq},
    {"%lanemask_lt", mask_lt},
    {"%lanemask_le", mask_le},
    {"%lanemask_gt", mask_gt},
    {"%lanemask_ge", mask_ge},
    {"%cluster_ctarank", ctarank},
    {"%cluster_nctarank", nctarank},
    {"%is_explicit_cluster", explicit_cluster},
    {"%smid", smid},
    {"%nsmid", nsmid},
    {"%gridid", gridid},
    {"%dynamic_smem_size", dynamic_smem},
    {"%total_smem_size", total_smem},
    {"WARP_SZ", warp_size},
    {"%clock", clock, true},
    {"%clock_hi", clock_hi, true},
    {"%clock64", clock, true},
    {"%globaltimer", timer, true},
    {"%globaltimer_lo", timer, true},
    {"%globaltimer_hi", timer_hi, true},
};

}  // namespace

std::optional<SpecialRegister> find_special(std::string_view name) {
  for (uint32_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].name == name) {
      return SpecialRegister{i, kRows[i].dynamic};
    }
  }
  return std::nullopt;
}

uint64_t special_value(uint32_t index, const Warp& warp, unsigned lane, uint64_t now) {
  return kRows[index].value(warp, lane, now);
}

}  // namespace emu
