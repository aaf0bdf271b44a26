// SPDX-License-Identifier: Apache-2.0
// Races between warps and asynchronous operations, by vector clocks (specification 9.4).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/access_history.hpp"
#include "exec/observer.hpp"

namespace emu {

class RaceDetector : public Observer {
 public:
  explicit RaceDetector(Engine& engine) : engine_(engine) {}

  void access(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address, uint32_t bytes,
              Access access, bool ordered) override;
  void acquire(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address) override;
  void release(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address) override;
  void fence(ExecContext& ctx) override;
  void barrier_arrive(ExecContext& ctx, uint32_t id, uint64_t phase) override;
  void barrier_leave(ExecContext& ctx, uint32_t id, uint64_t phase) override;
  void phase_arrive(ExecContext& ctx, const Cta& cta, uint64_t offset, bool relaxed) override;
  void phase_complete(const Cta& cta, uint64_t offset) override;
  void phase_wait(ExecContext& ctx, const Cta& cta, uint64_t offset) override;
  uint64_t async_start(ExecContext& ctx) override;
  void async_after(uint64_t operation, uint64_t earlier) override;
  void async_access(uint64_t operation, const Origin& origin, Cta* cta, uint64_t address,
                    uint32_t bytes, Access access) override;
  void async_arrive(uint64_t operation, const Cta& cta, uint64_t offset) override;
  void group_release(uint64_t operation, const void* groups, uint64_t group) override;
  void group_acquire(ExecContext& ctx, const void* groups, uint64_t first, uint64_t end) override;
  void async_end(uint64_t operation) override;

 private:
  struct Actor {
    uint32_t slot = 0;
    VectorClock clock;
    VectorClock fenced;   // what a fence has made releasable by relaxed operations
    VectorClock pending;  // what relaxed operations have seen and a fence will acquire
    const Instr* instr = nullptr;
  };
  struct PhaseObject {
    VectorClock gathered;
    VectorClock completed;
  };
  // Everything kept for a resident CTA; a new CTA at the same address starts anew.
  struct CtaState {
    const Grid* grid = nullptr;
    uint64_t linear = 0;
    std::vector<Actor> warps;
    std::vector<AccessHistory> shared;
    std::unordered_map<uint64_t, PhaseObject> phases;
    std::unordered_map<uint64_t, VectorClock> atomics;
    std::map<std::pair<uint32_t, uint64_t>, VectorClock> barriers;
  };

  CtaState& state_of(const Cta& cta);
  Actor& warp_actor(ExecContext& ctx);
  // Later steps of the actor are not covered by what it has given away.
  void advance(Actor& actor);
  VectorClock& atomic_object(Cta* cta, uint64_t address);
  void check(const Actor& actor, const Instr* instr, Cta* cta, uint64_t address, uint32_t bytes,
             bool writes, bool ordered, const Origin& origin, const char* kind);
  void report(const AccessRecord& earlier, bool writes, const Cta* cta, uint64_t address,
              const Origin& origin, const char* kind);

  Engine& engine_;
  std::unordered_map<const Cta*, std::unique_ptr<CtaState>> ctas_;
  std::unordered_map<uint64_t, AccessHistory> global_;
  std::unordered_map<uint64_t, VectorClock> global_atomics_;
  std::unordered_map<uint64_t, Actor> operations_;
  std::map<std::pair<const void*, uint64_t>, VectorClock> groups_;
  std::vector<uint32_t> last_steps_;  // by slot
  uint64_t next_operation_ = 1;
  uint32_t next_async_slot_ = 0;
  const Warp* last_issuer_ = nullptr;
  uint64_t last_issue_ = 0;  // step of the last start of an operation
  uint32_t slots_ = 0;
  bool reported_ = false;
};

}  // namespace emu
