// SPDX-License-Identifier: Apache-2.0
#include "exec/events.hpp"

#include <algorithm>

namespace emu {

void EventQueue::schedule(uint64_t now, Action action) {
  uint64_t delay = 0;
  switch (options_.policy) {
    case Policy::plain:
      break;
    case Policy::early_pct:
      delay = random_.below(2);
      break;
    case Policy::random:
    case Policy::pct:
    case Policy::late:
    case Policy::late_pct:
      // For the late policies the times only decide the order of delivery.
      delay = random_.below(options_.delay + 1);
      break;
  }
  queue_.push_back({now + delay, sequence_++, std::move(action)});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  update_due();
}

void EventQueue::update_due() {
  const bool late = options_.policy == Policy::late || options_.policy == Policy::late_pct;
  next_due_ = queue_.empty() || late ? ~uint64_t{0} : queue_.front().time;
}

EventQueue::Event EventQueue::pop() {
  std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
  Event event = std::move(queue_.back());
  queue_.pop_back();
  update_due();
  return event;
}

void EventQueue::run_due(uint64_t now) {
  while (next_due_ <= now) {
    pop().action();
  }
}

bool EventQueue::run_one(uint64_t& now) {
  if (queue_.empty()) {
    return false;
  }
  Event event = pop();
  now = std::max(now, event.time);
  event.action();
  return true;
}

}  // namespace emu
