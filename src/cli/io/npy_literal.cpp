// SPDX-License-Identifier: Apache-2.0
#include "cli/io/npy_literal.hpp"

#include <charconv>

#include "cli/io/file_error.hpp"

namespace mxgemm::cli {
namespace {

class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

  Status parse(NpyLiteral* literal) {
    MXGEMM_TRY(expect('{'));
    while (!take('}')) {
      MXGEMM_TRY(parse_member(literal));
      if (!take(',')) {
        MXGEMM_TRY(expect('}'));
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) {
      return fail("text after the closing '}'");
    }
    if (!has_descr_ || !has_order_ || !has_shape_) {
      return file_error("%s is missing", !has_descr_   ? "'descr'"
                                         : !has_order_ ? "'fortran_order'"
                                                       : "'shape'");
    }
    return {};
  }

 private:
  Status parse_member(NpyLiteral* literal) {
    std::string key;
    MXGEMM_TRY(parse_string(&key));
    bool* seen = key == "descr"           ? &has_descr_
                 : key == "fortran_order" ? &has_order_
                 : key == "shape"         ? &has_shape_
                                          : nullptr;
    if (seen == nullptr) {
      return file_error("unknown key %s; known are 'descr', 'fortran_order', 'shape'",
                        quoted_text(key).c_str());
    }
    if (*seen) {
      return file_error("the key %s appears twice", quoted_text(key).c_str());
    }
    *seen = true;
    MXGEMM_TRY(expect(':'));
    skip_blanks();
    if (seen == &has_descr_) {
      if (next() == '[') {
        return file_error("'descr' is a list: arrays of records are not supported");
      }
      return parse_string(&literal->descr);
    }
    return seen == &has_order_ ? parse_boolean(&literal->fortran_order)
                               : parse_shape(&literal->shape);
  }

  Status parse_string(std::string* value) {
    skip_blanks();
    const char quote = next();
    if (quote != '\'' && quote != '"') {
      return fail("a string in quotes is expected");
    }
    const size_t begin = at_ + 1;
    const size_t end = text_.find_first_of(std::string{quote, '\\', '\n'}, begin);
    if (end == std::string_view::npos || text_[end] != quote) {
      return fail("a string without end, or with an escape");
    }
    value->assign(text_.substr(begin, end - begin));
    at_ = end + 1;
    return {};
  }

  Status parse_boolean(bool* value) {
    for (const bool candidate : {false, true}) {
      const std::string_view word = candidate ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        *value = candidate;
        return {};
      }
    }
    return fail("True or False is expected");
  }

  Status parse_shape(Shape* shape) {
    MXGEMM_TRY(expect('('));
    bool comma = true;  // whether another dimension may follow
    while (!take(')')) {
      if (!comma) {
        return fail("',' or ')' is expected");
      }
      skip_blanks();
      int64_t dimension = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dimension);
      if (error != std::errc() || dimension < 0) {
        return fail("a dimension from 0 to 2^63 - 1 is expected");
      }
      if (shape->size() == kMaxRank) {
        return file_error("shape has more than %zu dimensions", kMaxRank);
      }
      shape->push_back(dimension);
      at_ += static_cast<size_t>(end - begin);
      comma = take(',');
    }
    // (3) is a number in Python, (3,) a tuple.
    return shape->size() == 1 && !comma ? fail("a tuple of one needs a comma") : Status();
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    skip_blanks();
    if (next() != c || at_ == text_.size()) {
      return false;
    }
    ++at_;
    return true;
  }
  Status expect(char c) {
    const char expected[] = {'\'', c, '\'', '\0'};
    return take(c) ? Status() : fail(std::string(expected) + " is expected");
  }
  Status fail(const std::string& what) const {
    return file_error("%s at byte %zu, before %s", what.c_str(), at_,
                      quoted_text(text_.substr(at_)).c_str());
  }

  std::string_view text_;
  size_t at_ = 0;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

Status parse_npy_literal(std::string_view text, NpyLiteral* literal) {
  return LiteralParser(text).parse(literal);
}

}  // namespace mxgemm::cli
