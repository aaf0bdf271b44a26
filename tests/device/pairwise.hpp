// SPDX-License-Identifier: Apache-2.0
// Plans in which every pair of values of every two factors occurs together in some case: what
// breaks a kernel is rarely more than two things at once, and the cases are a few hundred instead
// of billions.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/random.hpp"

namespace mxgemm::test {

// One value index per factor.
using Case = std::vector<int>;

class PairwisePlan {
 public:
  // levels[f] = number of values of factor f.
  explicit PairwisePlan(std::vector<int> levels) : levels_(std::move(levels)) {
    for (int levels_of_factor : levels_) {
      first_.push_back(total_);
      total_ += levels_of_factor;
    }
    covered_.assign(static_cast<size_t>(total_ * total_), false);
    for (size_t f = 0; f < levels_.size(); ++f) {
      for (size_t g = f + 1; g < levels_.size(); ++g) {
        for (int v = 0; v < levels_[f]; ++v) {
          for (int w = 0; w < levels_[g]; ++w) {
            open_.push_back({f, g, v, w});
          }
        }
      }
    }
  }

  // Cases until no pair is left, each the best of a few random ones around a pair that is not
  // covered yet.
  std::vector<Case> cases() {
    constexpr int kCandidates = 24;
    std::vector<Case> plan;
    for (const Pair& pair : open_) {
      if (is_covered(pair)) {
        continue;
      }
      Case best;
      int best_gain = -1;
      for (int i = 0; i < kCandidates; ++i) {
        const Case candidate = random_case(pair);
        const int gain = uncovered_pairs(candidate);
        if (gain > best_gain) {
          best = candidate;
          best_gain = gain;
        }
      }
      cover(best);
      plan.push_back(best);
    }
    return plan;
  }

  int64_t pairs() const { return static_cast<int64_t>(open_.size()); }

 private:
  struct Pair {
    size_t f, g;
    int v, w;
  };

  size_t slot(size_t f, int v, size_t g, int w) const {
    return static_cast<size_t>((first_[f] + v) * total_ + first_[g] + w);
  }
  bool is_covered(const Pair& p) const { return covered_[slot(p.f, p.v, p.g, p.w)]; }

  Case random_case(const Pair& pair) {
    Case values;
    for (int levels_of_factor : levels_) {
      values.push_back(
          static_cast<int>(random_.below(next_++, static_cast<uint32_t>(levels_of_factor))));
    }
    values[pair.f] = pair.v;
    values[pair.g] = pair.w;
    return values;
  }

  int uncovered_pairs(const Case& values) const {
    int count = 0;
    for (size_t f = 0; f < values.size(); ++f) {
      for (size_t g = f + 1; g < values.size(); ++g) {
        count += covered_[slot(f, values[f], g, values[g])] ? 0 : 1;
      }
    }
    return count;
  }

  void cover(const Case& values) {
    for (size_t f = 0; f < values.size(); ++f) {
      for (size_t g = f + 1; g < values.size(); ++g) {
        covered_[slot(f, values[f], g, values[g])] = true;
      }
    }
  }

  std::vector<int> levels_;
  std::vector<int> first_;
  int total_ = 0;
  std::vector<bool> covered_;
  std::vector<Pair> open_;
  cli::RandomStream random_{1, 0};
  uint64_t next_ = 0;
};

}  // namespace mxgemm::test
