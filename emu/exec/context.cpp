// SPDX-License-Identifier: Apache-2.0
// Memory as a handler sees it: every access checked (specification 5.3, 9.1, 9.2).
#include "exec/context.hpp"

#include <cstdio>
#include <cstring>

#include "exec/engine.hpp"
#include "isa/memory_qualifiers.hpp"

namespace emu {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

const char* verb(Access access) {
  switch (access) {
    case Access::read:
    case Access::read_rows:
      return "read";
    case Access::write:
      return "write";
    case Access::atomic:
      return "atomic access";
  }
  return "";
}

// Loads, stores and atomics that are volatile, relaxed or stronger.
bool is_ordered(const Instr& instr) {
  return instr.has(Instr::kMemory) && (instr.mode2 & kOrderStrong) != 0;
}

bool reads(Access access) {
  return access != Access::write;
}
bool writes(Access access) {
  return access == Access::write || access == Access::atomic;
}

}  // namespace

ptx::Space ExecContext::generic_space(uint64_t& address) {
  switch (address & kWindowMask) {
    case kSharedWindow:
      address &= ~kWindowMask;
      return ptx::Space::shared_cluster;
    case kLocalWindow:
      address &= ~kWindowMask;
      return ptx::Space::local;
    case kParamWindow:
      address &= ~kWindowMask;
      return ptx::Space::param;
    default:
      return ptx::Space::global;
  }
}

Place ExecContext::place(ptx::Space space, unsigned lane, uint64_t address, uint32_t bytes,
                         Access access) {
  if (space == ptx::Space::generic) {
    space = generic_space(address);
  }
  if (address % bytes != 0) {
    fault(FaultKind::misaligned_address,
          std::string(verb(access)) + " of " + std::to_string(bytes) + " bytes at " +
              describe(space, address) + ", which is no multiple of " + std::to_string(bytes),
          lane);
    return {};
  }
  switch (space) {
    case ptx::Space::shared:
    case ptx::Space::shared_cta:
    case ptx::Space::shared_cluster:
      return shared(space, lane, address, bytes, access);
    case ptx::Space::local:
      return local(lane, address, bytes);
    case ptx::Space::param:
      return param(lane, address, bytes, access);
    case ptx::Space::generic:
    case ptx::Space::global:
    case ptx::Space::constant:
      break;
  }
  if ((address & kWindowMask) == kParamWindow) {
    return param(lane, address & ~kWindowMask, bytes, access);
  }
  return global(lane, address, bytes, access);
}

Cta* ExecContext::find_cta(ptx::Space space, unsigned lane, uint64_t address) {
  const auto rank = static_cast<uint32_t>(address >> kRankShift);
  if (rank == cta->rank) {
    return cta;
  }
  const bool remote_allowed = space == ptx::Space::shared_cluster;
  if (!remote_allowed || address >> 32 != 0 || rank >= cluster->ctas.size()) {
    fault(
        FaultKind::illegal_address,
        "shared address " + hex(address) + " names CTA rank " + std::to_string(rank) +
            (remote_allowed ? ", the cluster has " + std::to_string(cluster->ctas.size()) + " CTAs"
                            : ", ." + std::string(ptx::space_name(space)) +
                                  " reaches only the own CTA, rank " + std::to_string(cta->rank)),
        lane);
    return nullptr;
  }
  Cta* owner = cluster->ctas[rank].get();
  if (owner->exited) {
    fault(FaultKind::illegal_address,
          "access to shared memory of CTA rank " + std::to_string(rank) + ", which has exited",
          lane);
    return nullptr;
  }
  return owner;
}

Place ExecContext::shared(ptx::Space space, unsigned lane, uint64_t address, uint32_t bytes,
                          Access access) {
  Cta* owner = find_cta(space, lane, address);
  if (owner == nullptr) {
    return {};
  }
  const auto offset = static_cast<uint32_t>(address) & kSharedOffsetMask;
  SharedMemory& memory = owner->shared;
  if (!memory.inside(offset, bytes)) {
    fault(FaultKind::illegal_address,
          std::string(verb(access)) + " of " + std::to_string(bytes) + " bytes at " +
              describe(space, address) +
              (offset < kReservedShared
                   ? ", within the kilobyte that the system reserves"
                   : ", outside the CTA's " + std::to_string(memory.bytes() - kReservedShared) +
                         " bytes (they end at " + hex(memory.bytes()) + ")"),
          lane);
    return {};
  }
  if (writes(access) && memory.touches_mbarrier(offset, bytes)) {
    fault(FaultKind::launch_failure,
          std::string(verb(access)) + " over the valid mbarrier at " + describe(space, address),
          lane);
    return {};
  }
  if ((access == Access::read || access == Access::atomic) && options().strict_uninit &&
      !memory.is_written(offset, bytes)) {
    fault(FaultKind::launch_failure,
          std::string(verb(access)) + " of " + std::to_string(bytes) + " bytes at " +
              describe(space, address) + ", which nothing has written since the CTA started",
          lane);
    return {};
  }
  note_shared_access(lane, *owner, offset, bytes, access);
  return {memory.data() + offset, owner, offset};
}

void ExecContext::note_shared_access(unsigned lane, Cta& owner, uint32_t offset, uint32_t bytes,
                                     Access access) {
  SharedMemory& memory = owner.shared;
  const auto mark = static_cast<uint16_t>(warp->index + 1);
  const uint32_t end = offset + bytes;
  for (uint32_t at = offset / kGranule * kGranule; at < end; at += kGranule) {
    Granule& granule = memory.granule(at);
    if (writes(access)) {
      granule.unfenced_write = mark;
    }
    if (reads(access)) {
      granule.unfenced_read |= 1u << warp->index;
    }
  }
  if (writes(access)) {
    memory.mark_written(offset, bytes);
    engine->progress();
  }
  if (Observer* observer = engine->observer()) {
    observer->access(*this, lane, &owner, offset, bytes, access, is_ordered(*instr));
  }
}

Place ExecContext::shared_place(ptx::Space space, unsigned lane, uint64_t address, uint32_t bytes,
                                uint32_t alignment) {
  if (space == ptx::Space::generic) {
    space = generic_space(address);
    if (!ptx::is_shared(space)) {
      fault(FaultKind::illegal_address,
            describe(space, address) + " is used where shared memory is needed", lane);
      return {};
    }
  }
  Cta* owner = find_cta(space, lane, address);
  if (owner == nullptr) {
    return {};
  }
  const auto offset = static_cast<uint32_t>(address) & kSharedOffsetMask;
  if (offset % alignment != 0) {
    fault(FaultKind::misaligned_address,
          describe(space, address) + " is no multiple of " + std::to_string(alignment), lane);
    return {};
  }
  if (!owner->shared.inside(offset, bytes)) {
    fault(FaultKind::illegal_address,
          std::to_string(bytes) + " bytes at " + describe(space, address) +
              " leave the CTA's shared memory, 0x400 to " + hex(owner->shared.bytes()),
          lane);
    return {};
  }
  return {owner->shared.data() + offset, owner, offset};
}

Place ExecContext::global_place(unsigned lane, uint64_t address, uint64_t bytes, Access access) {
  if ((address & kWindowMask) == kParamWindow) {
    return param(lane, address & ~kWindowMask, static_cast<uint32_t>(bytes), access);
  }
  return global(lane, address, bytes, access);
}

Place ExecContext::global(unsigned lane, uint64_t address, uint64_t bytes, Access access) {
  if (last_grid_ != grid) {
    last_grid_ = grid;
    last_allocation_ = nullptr;
  }
  if (last_allocation_ == nullptr || !last_allocation_->contains(address, bytes)) {
    const Allocation* found = grid->allocations->find(address);
    std::string why;
    if (found == nullptr || !found->contains(address, bytes)) {
      why = found == nullptr ? "no allocation holds it" : "it leaves the allocation";
    } else if (found->freed) {
      why = "the allocation has been freed";
    } else if (found->device >= 0 &&
               (grid->request->accessible_devices >> found->device & 1) == 0) {
      why = "the memory belongs to device " + std::to_string(found->device) +
            ", to which the kernel's device has no peer access";
    }
    if (!why.empty()) {
      fault(FaultKind::illegal_address,
            std::string(verb(access)) + " of " + std::to_string(bytes) + " bytes at " +
                describe(ptx::Space::global, address) + ": " + why,
            lane);
      return {};
    }
    last_allocation_ = found;
  }
  if (writes(access)) {
    if (last_allocation_->kind == MemoryKind::constant) {
      fault(FaultKind::illegal_address,
            std::string(verb(access)) + " to constant memory, " +
                describe(ptx::Space::global, address),
            lane);
      return {};
    }
    engine->progress();
  }
  if (Observer* observer = engine->observer()) {
    observer->access(*this, lane, nullptr, address, static_cast<uint32_t>(bytes), access,
                     is_ordered(*instr));
  }
  return {reinterpret_cast<uint8_t*>(address), nullptr, 0};
}

Place ExecContext::local(unsigned lane, uint64_t address, uint32_t bytes) {
  if ((address & kWindowMask) == kLocalWindow) {
    address &= ~kWindowMask;
  }
  const uint64_t end = uint64_t{frame->local_base} + frame->code->local_bytes;
  if (address + bytes > end) {
    fault(FaultKind::illegal_address,
          "local address " + hex(address) + ": the thread's local memory ends at " + hex(end),
          lane);
    return {};
  }
  return {warp->local.data() + size_t{lane} * warp->local_stride + address, nullptr, 0};
}

Place ExecContext::param(unsigned lane, uint64_t address, uint32_t bytes, Access access) {
  if ((address & kWindowMask) == kParamWindow) {
    address &= ~kWindowMask;
  }
  const std::vector<uint8_t>& params = grid->request->params;
  if (writes(access)) {
    fault(FaultKind::illegal_address, "write to the kernel's parameters", lane);
    return {};
  }
  if (address > params.size() || bytes > params.size() - address) {
    fault(FaultKind::illegal_address,
          "read of " + std::to_string(bytes) + " bytes at offset " + std::to_string(address) +
              " of the kernel's " + std::to_string(params.size()) + " bytes of parameters",
          lane);
    return {};
  }
  // Handlers only read from it.
  return {const_cast<uint8_t*>(params.data()) + address, nullptr, 0};
}

std::string ExecContext::describe(ptx::Space space, uint64_t address) const {
  if (space == ptx::Space::generic) {
    space = generic_space(address);
  }
  if (ptx::is_shared(space)) {
    return "shared address " + hex(address & kSharedOffsetMask) + " of CTA rank " +
           std::to_string(address >> kRankShift);
  }
  if (space == ptx::Space::local) {
    return "local address " + hex(address);
  }
  if (space == ptx::Space::param) {
    return "parameter offset " + hex(address);
  }
  std::string text = "global address " + hex(address);
  const Allocation* near = grid->allocations->nearest(address);
  if (near == nullptr) {
    return text + " (nothing is allocated)";
  }
  text += " (";
  if (address < near->base) {
    text += std::to_string(near->base - address) + " bytes before ";
  } else if (address >= near->end()) {
    text += std::to_string(address - near->end()) + " bytes after the end of ";
  } else {
    text += "byte " + std::to_string(address - near->base) + " of ";
  }
  return text + "allocation " + std::to_string(near->number) + ", " + near->label + ", " +
         std::to_string(near->bytes) + " bytes" + (near->freed ? ", freed)" : ")");
}

StepResult ExecContext::block(WaitKind kind, const uint64_t* counter, uint64_t detail0,
                              uint64_t detail1) {
  group->wait.kind = kind;
  group->wait.counter = counter;
  group->wait.seen = *counter;
  group->wait.detail[0] = detail0;
  group->wait.detail[1] = detail1;
  return StepResult::blocked;
}

Origin ExecContext::origin(unsigned lane) const {
  return {cta, warp->index, lane, frame->code, instr};
}

uint32_t ExecContext::lane_shuffle() {
  if (!options().adversarial()) {
    return 0;
  }
  return static_cast<uint32_t>(random().next() >> 54);  // start: low 5 bits, stride: next 5
}

}  // namespace emu
