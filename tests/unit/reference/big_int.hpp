// SPDX-License-Identifier: Apache-2.0
// Signed integers of any size, as plainly as they can be written: what the oracle's exactness is
// measured against. It has no code in common with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mxgemm::test {

class BigInt {
 public:
  BigInt() = default;
  explicit BigInt(int64_t value) : negative_(value < 0) {
    uint64_t rest = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    for (; rest != 0; rest >>= 32) {
      digits_.push_back(static_cast<uint32_t>(rest));
    }
  }

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }

  BigInt magnitude() const {
    BigInt result = *this;
    result.negative_ = false;
    return result;
  }

  BigInt shifted_left(int bits) const {
    BigInt result;
    result.negative_ = negative_;
    result.digits_.assign(static_cast<size_t>(bits / 32), 0);
    uint64_t carry = 0;
    for (const uint32_t digit : digits_) {
      carry |= static_cast<uint64_t>(digit) << (bits % 32);
      result.digits_.push_back(static_cast<uint32_t>(carry));
      carry >>= 32;
    }
    result.digits_.push_back(static_cast<uint32_t>(carry));
    result.trim();
    return result;
  }

  friend BigInt operator*(const BigInt& a, const BigInt& b) {
    BigInt result;
    result.negative_ = a.negative_ != b.negative_;
    result.digits_.assign(a.digits_.size() + b.digits_.size(), 0);
    for (size_t i = 0; i < a.digits_.size(); ++i) {
      uint64_t carry = 0;
      for (size_t j = 0; j < b.digits_.size(); ++j) {
        carry += static_cast<uint64_t>(a.digits_[i]) * b.digits_[j] + result.digits_[i + j];
        result.digits_[i + j] = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
      result.digits_[i + b.digits_.size()] = static_cast<uint32_t>(carry);
    }
    result.trim();
    return result;
  }

  friend BigInt operator+(const BigInt& a, const BigInt& b) {
    BigInt result;
    if (a.negative_ == b.negative_) {
      result.digits_ = sum(a.digits_, b.digits_);
      result.negative_ = a.negative_;
    } else if (less(a.digits_, b.digits_)) {
      result.digits_ = difference(b.digits_, a.digits_);
      result.negative_ = b.negative_;
    } else {
      result.digits_ = difference(a.digits_, b.digits_);
      result.negative_ = a.negative_;
    }
    result.trim();
    return result;
  }

  friend bool operator<(const BigInt& a, const BigInt& b) {
    if (a.negative_ != b.negative_) {
      return a.negative_;
    }
    return a.negative_ ? less(b.digits_, a.digits_) : less(a.digits_, b.digits_);
  }

  friend bool operator==(const BigInt& a, const BigInt& b) {
    return a.negative_ == b.negative_ && a.digits_ == b.digits_;
  }

  // Number of bits of the magnitude, and each of them.
  int bit_length() const {
    int bits = static_cast<int>(digits_.size()) * 32;
    while (bits > 0 && !bit(bits - 1)) {
      --bits;
    }
    return bits;
  }
  bool bit(int index) const {
    const auto digit = static_cast<size_t>(index / 32);
    return digit < digits_.size() && (digits_[digit] >> (index % 32) & 1) != 0;
  }

 private:
  using Digits = std::vector<uint32_t>;

  static bool less(const Digits& a, const Digits& b) {
    return a.size() != b.size()
               ? a.size() < b.size()
               : std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  }
  static Digits sum(const Digits& a, const Digits& b) {
    Digits result;
    uint64_t carry = 0;
    for (size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
      carry += (i < a.size() ? a[i] : 0ull) + (i < b.size() ? b[i] : 0ull);
      result.push_back(static_cast<uint32_t>(carry));
      carry >>= 32;
    }
    return result;
  }
  static Digits difference(const Digits& a, const Digits& b) {  // b <= a
    Digits result;
    int64_t borrow = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      int64_t digit = int64_t{a[i]} - (i < b.size() ? b[i] : 0) - borrow;
      borrow = digit < 0 ? 1 : 0;
      digit += borrow << 32;
      result.push_back(static_cast<uint32_t>(digit));
    }
    return result;
  }
  void trim() {
    while (!digits_.empty() && digits_.back() == 0) {
      digits_.pop_back();
    }
    negative_ = negative_ && !digits_.empty();
  }

  bool negative_ = false;
  Digits digits_;  // lowest first, no zeros on top
};

}  // namespace mxgemm::test
