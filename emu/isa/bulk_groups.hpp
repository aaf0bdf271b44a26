// SPDX-License-Identifier: Apache-2.0
// Groups of asynchronous operations that one lane commits and waits for: bulk copies and non-bulk
// cp.async.
#pragma once

#include <cstdint>
#include <deque>

namespace emu {

class AsyncGroups {
 public:
  // The operation joins the open group; its handle goes to `source_read` and `done` later.
  uint64_t join() {
    ++open_.joined;
    ++open_.unread;
    ++open_.unfinished;
    return first_ + closed_.size();
  }
  void source_read(uint64_t group) { --at(group).unread; }
  void done(uint64_t group) {
    --at(group).unfinished;
    drop_finished();
  }
  void commit() {
    closed_.push_back(open_);
    open_ = {};
    drop_finished();
  }

  // All committed groups except the `recent` most recent ones: complete, or at least read at their
  // source. (Counting how many are pending would be wrong: they finish in any order.)
  bool finished(uint64_t recent, bool only_read) const {
    const uint64_t committed = first_ + closed_.size();
    const uint64_t end = committed > recent ? committed - recent : 0;
    for (uint64_t g = first_; g < end; ++g) {
      const Group& group = closed_[g - first_];
      if (only_read ? group.unread != 0 : group.unfinished != 0) {
        return false;
      }
    }
    return true;
  }

  bool open_is_empty() const { return open_.joined == 0; }
  // Operations of all groups that are not complete.
  uint64_t unfinished() const {
    uint64_t count = open_.unfinished;
    for (const Group& group : closed_) {
      count += group.unfinished;
    }
    return count;
  }
  uint64_t committed() const { return first_ + closed_.size(); }

 private:
  struct Group {
    uint32_t joined = 0;
    uint32_t unread = 0;
    uint32_t unfinished = 0;
  };

  Group& at(uint64_t group) {
    const uint64_t index = group - first_;
    return index == closed_.size() ? open_ : closed_[index];
  }
  void drop_finished() {
    while (!closed_.empty() && closed_.front().unread == 0 && closed_.front().unfinished == 0) {
      closed_.pop_front();
      ++first_;
    }
  }

  uint64_t first_ = 0;  // number of the group at the front of closed_
  std::deque<Group> closed_;
  Group open_;
};

}  // namespace emu
