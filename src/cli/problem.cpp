// SPDX-License-Identifier: Apache-2.0
#include "cli/problem.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "cli/program.hpp"
#include "formats/activation.hpp"

namespace mxgemm::cli {
namespace {

using internal::find_format;
using internal::format_name;

// No extent and no option may be larger: products of three of them with an element size stay exact
// in the 128 bits that check_sizes uses.
constexpr int64_t kMaxExtent = int64_t{1} << 40;

[[noreturn]] void refuse(std::string_view problem, const std::string& message) {
  throw CommandError(kExitBadCommandLine, fmt::format("problem '{}': {}", problem, message));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) {
      return parts;
    }
    begin = end + 1;
  }
}

// One problem string on its way to a Problem.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Problem parse() {
    const std::vector<std::string_view> parts = split(text_, ':');
    if (parts.size() < 4) {
      refuse(text_, fmt::format("{} of the 4 parts m<M>n<N>k<K>:<A>:<B>:<D> found, "
                                "as in m128n256k512:mxf4:mxf4:bf16",
                                parts.size()));
    }
    parse_shape(parts[0]);
    problem_.a = parse_format("A", parts[1], /*plain=*/true, /*scaled=*/true);
    problem_.b = parse_format("B", parts[2], /*plain=*/false, /*scaled=*/true);
    problem_.d = parse_format("D", parts[3], /*plain=*/true, /*scaled=*/false);
    for (size_t i = 4; i < parts.size(); ++i) {
      parse_option(parts[i]);
    }
    check_together();
    check_sizes();
    return problem_;
  }

 private:
  void parse_shape(std::string_view shape) {
    const char* at = shape.data();
    const char* const end = at + shape.size();
    const auto extent = [&](char letter, int64_t& value) {
      if (at == end || *at != letter) {
        refuse(text_, fmt::format("the shape '{}' lacks '{}<{}>'; it is written m<M>n<N>k<K>, "
                                  "as in m128n256k512",
                                  shape, letter, static_cast<char>(letter - 'a' + 'A')));
      }
      const char* begin = ++at;
      while (at != end && *at >= '0' && *at <= '9') {
        ++at;
      }
      value = parse_count(fmt::format("{}", static_cast<char>(letter - 'a' + 'A')),
                          std::string_view(begin, static_cast<size_t>(at - begin)));
    };
    extent('m', problem_.m);
    extent('n', problem_.n);
    extent('k', problem_.k);
    if (at != end) {
      refuse(text_, fmt::format("'{}' after K in the shape '{}'; a ':' and A's format follow it",
                                std::string_view(at, static_cast<size_t>(end - at)), shape));
    }
  }

  int64_t parse_count(const std::string& what, std::string_view digits) {
    int64_t value = -1;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = stop == digits.data() + digits.size();
    if (error == std::errc::result_out_of_range || (error == std::errc() && value > kMaxExtent)) {
      refuse(text_, fmt::format("{} is '{}', allowed are 0 to {}", what, digits, kMaxExtent));
    }
    if (digits.empty() || error != std::errc() || !whole || value < 0) {
      refuse(text_, fmt::format("{} is '{}', allowed are whole numbers from 0", what, digits));
    }
    return value;
  }

  Format parse_format(const char* what, std::string_view name, bool plain, bool scaled) {
    if (name == "mxf8") {
      name = "mxf8e4m3";
    }
    std::string allowed;
    for (const internal::FormatInfo& info : internal::kFormats) {
      if (is_block_scaled(info.format) ? !scaled : !plain) {
        continue;
      }
      if (name == info.name) {
        return info.format;
      }
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", info.name);
    }
    refuse(text_, fmt::format("{} is '{}', allowed are {}{}", what, name, allowed,
                              scaled ? " (mxf8 = mxf8e4m3)" : ""));
  }

  void parse_option(std::string_view option) {
    const size_t equals = option.find('=');
    const std::string_view name = option.substr(0, equals);
    const bool has_value = equals != std::string_view::npos;
    const std::string_view value = has_value ? option.substr(equals + 1) : std::string_view();
    for (const std::string_view earlier : seen_) {
      if (earlier == name) {
        refuse(text_, fmt::format("option '{}' is given twice", name));
      }
    }
    seen_.push_back(name);
    if (name == "bias" && !has_value) {
      problem_.bias = problem_.d;
    } else if (name == "packed" && !has_value) {
      problem_.packed_b = true;
    } else if (name == "packed") {
      refuse(text_, fmt::format("packed is '{}', allowed is no value", value));
    } else if (!parse_choice(name, value) && !parse_number(name, value)) {
      refuse(text_, fmt::format("unknown option '{}', allowed are scales=swizzled|rowmajor, "
                                "pad=nan|zero, bias[=f32], beta=<x>, alpha=<x>|dev, "
                                "act=none|relu|gelu|gelu_tanh|silu, lda=+<n>, ldb=+<n>, ldc=+<n>, "
                                "ldd=+<n>, off=<bytes>, packed",
                                option));
    }
  }

  // Options whose value is one of a few words.
  bool parse_choice(std::string_view name, std::string_view value) {
    if (name == "scales") {
      problem_.scales = choose(name, value, {"swizzled", "rowmajor"}) == 0
                            ? ScaleLayout::kSwizzle32x4x4
                            : ScaleLayout::kRowMajor;
    } else if (name == "pad") {
      problem_.pad_zero = choose(name, value, {"nan", "zero"}) == 1;
    } else if (name == "bias") {
      choose(name, value, {"f32"});
      problem_.bias = Format::kF32;
    } else if (name == "act") {
      problem_.activation =
          choose(name, value,
                 {std::begin(internal::kActivationNames), std::end(internal::kActivationNames)});
    } else {
      return false;
    }
    return true;
  }

  int choose(std::string_view name, std::string_view value, std::vector<std::string_view> allowed) {
    for (size_t i = 0; i < allowed.size(); ++i) {
      if (value == allowed[i]) {
        return static_cast<int>(i);
      }
    }
    refuse(text_, fmt::format("{} is '{}', allowed is {}", name, value, fmt::join(allowed, ", ")));
  }

  bool parse_number(std::string_view name, std::string_view value) {
    if (name == "beta") {
      problem_.beta = parse_float(name, value, "");
    } else if (name == "alpha" && value == "dev") {
      problem_.alpha_on_device = true;
    } else if (name == "alpha") {
      problem_.alpha = parse_float(name, value, " and 'dev'");
    } else if (name == "off") {
      problem_.offset = parse_count("off", value);
    } else if (name == "lda") {
      problem_.extra_lda = parse_extra(name, value);
    } else if (name == "ldb") {
      problem_.extra_ldb = parse_extra(name, value);
    } else if (name == "ldc") {
      problem_.extra_ldc = parse_extra(name, value);
    } else if (name == "ldd") {
      problem_.extra_ldd = parse_extra(name, value);
    } else {
      return false;
    }
    return true;
  }

  float parse_float(std::string_view name, std::string_view value, const char* also) {
    float number = 0.0f;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || stop != value.data() + value.size() || !std::isfinite(number)) {
      refuse(text_, fmt::format("{} is '{}', allowed are finite fp32 numbers, as in {}=0.5{}", name,
                                value, name, also));
    }
    return number;
  }

  int64_t parse_extra(std::string_view name, std::string_view value) {
    if (value.empty() || value[0] != '+') {
      refuse(text_,
             fmt::format("{} is '{}', allowed is + and a count of extra elements, as in {}=+8",
                         name, value, name));
    }
    return parse_count(std::string(name), value.substr(1));
  }

  // What single parts cannot tell.
  void check_together() {
    check_k("A", problem_.a);
    check_k("B", problem_.b);
    check_extra("lda", problem_.a, problem_.extra_lda);
    check_extra("ldb", problem_.b, problem_.extra_ldb);
    if (!problem_.beta && problem_.extra_ldc != 0) {
      refuse(text_,
             fmt::format("ldc is '+{}', allowed only with beta=<x>: without it there is no C",
                         problem_.extra_ldc));
    }
    check_offset("A", problem_.a);
    check_offset("B", problem_.b);
    check_offset("D", problem_.d);
    check_offset("bias", problem_.bias);
  }

  void check_k(const char* what, Format format) {
    const int block = find_format(format)->block_size;
    if (problem_.k % block != 0) {
      refuse(text_, fmt::format("K is {}, allowed are multiples of {}, the block size of {} ({})",
                                problem_.k, block, what, format_name(format)));
    }
  }

  void check_extra(const char* what, Format format, int64_t extra) {
    if (find_format(format)->element_bits == 4 && extra % 2 != 0) {
      refuse(text_, fmt::format("{} is '+{}', allowed are multiples of 2: {} has 4-bit elements",
                                what, extra, format_name(format)));
    }
  }

  void check_offset(const char* what, Format format) {
    const internal::FormatInfo* info = find_format(format);
    const int bytes = info == nullptr || info->element_bits < 8 ? 1 : info->element_bits / 8;
    if (problem_.offset % bytes != 0) {
      refuse(text_,
             fmt::format("off is '{}', allowed are multiples of {}, the element size of {} ({})",
                         problem_.offset, bytes, what, format_name(format)));
    }
  }

  void check_sizes() {
    // Half of what 64 bits hold leaves room for sums of buffers and guards.
    constexpr __int128 kMaxBytes = __int128{1} << 62;
    const auto check = [&](const char* what, int64_t rows, int64_t row_elements) {
      // Four bytes are the widest element; scales take less than the elements.
      if (__int128{rows} * row_elements * 4 > kMaxBytes) {
        refuse(text_, fmt::format("{} has {} x {} elements, allowed are 2^60 in all", what, rows,
                                  row_elements));
      }
    };
    check("A", problem_.m, lda(problem_));
    check("B", problem_.n, ldb(problem_));
    check("C", problem_.m, ldc(problem_));
    check("D", problem_.m, ldd(problem_));
  }

  std::string_view text_;
  Problem problem_;
  std::vector<std::string_view> seen_;
};

}  // namespace

Problem parse_problem(std::string_view text) {
  return Parser(text).parse();
}

std::string to_string(const Problem& p) {
  std::string text = fmt::format("m{}n{}k{}:{}:{}:{}", p.m, p.n, p.k, format_name(p.a),
                                 format_name(p.b), format_name(p.d));
  const auto add = [&](bool given, const std::string& option) {
    if (given) {
      text += ":" + option;
    }
  };
  add(p.scales == ScaleLayout::kRowMajor, "scales=rowmajor");
  add(p.pad_zero, "pad=zero");
  add(p.bias != Format::kNone, p.bias == p.d ? "bias" : "bias=f32");
  add(p.beta.has_value(), fmt::format("beta={}", p.beta.value_or(0.0f)));
  add(p.alpha_on_device, "alpha=dev");
  add(!p.alpha_on_device && p.alpha != 1.0f, fmt::format("alpha={}", p.alpha));
  add(p.activation != MXGEMM_ACT_NONE, fmt::format("act={}", activation_name(p.activation)));
  add(p.extra_lda != 0, fmt::format("lda=+{}", p.extra_lda));
  add(p.extra_ldb != 0, fmt::format("ldb=+{}", p.extra_ldb));
  add(p.extra_ldc != 0, fmt::format("ldc=+{}", p.extra_ldc));
  add(p.extra_ldd != 0, fmt::format("ldd=+{}", p.extra_ldd));
  add(p.offset != 0, fmt::format("off={}", p.offset));
  add(p.packed_b, "packed");
  return text;
}

const char* activation_name(int32_t activation) {
  const auto& names = internal::kActivationNames;
  return activation >= 0 && activation < static_cast<int32_t>(std::size(names)) ? names[activation]
                                                                                : "unknown";
}

}  // namespace mxgemm::cli
