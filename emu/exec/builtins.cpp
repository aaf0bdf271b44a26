// SPDX-License-Identifier: Apache-2.0
#include "exec/builtins.hpp"

#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "exec/engine.hpp"

namespace emu {
namespace {

// A kernel's string cannot sensibly be longer; without a bound a missing NUL reads on for long.
constexpr size_t kLongestString = 4096;

bool read_string(ExecContext& ctx, unsigned lane, uint64_t address, std::string* out) {
  out->clear();
  while (out->size() < kLongestString) {
    const Place place =
        ctx.place(ptx::Space::generic, lane, address + out->size(), 1, Access::read);
    if (!place) {
      return false;
    }
    if (*place.data == 0) {
      break;
    }
    out->push_back(static_cast<char>(*place.data));
  }
  return true;
}

// Reads the packed arguments of vprintf: 8-byte slots are aligned to 8, 4-byte ones to 4.
class ArgumentReader {
 public:
  ArgumentReader(ExecContext& ctx, unsigned lane, uint64_t address)
      : ctx_(ctx), lane_(lane), address_(address) {}

  bool read(unsigned bytes, uint64_t* value) {
    offset_ = (offset_ + bytes - 1) / bytes * bytes;
    const Place place =
        ctx_.place(ptx::Space::generic, lane_, address_ + offset_, bytes, Access::read);
    if (!place) {
      return false;
    }
    *value = 0;
    std::memcpy(value, place.data, bytes);
    offset_ += bytes;
    return true;
  }

 private:
  ExecContext& ctx_;
  unsigned lane_;
  uint64_t address_;
  uint64_t offset_ = 0;
};

template <class T>
void append(std::string& out, const std::string& pattern, T value) {
  char text[512];
  std::snprintf(text, sizeof text, pattern.c_str(), value);
  out += text;
}

// One conversion, `pattern` from '%' to the letter.
bool convert(ExecContext& ctx, unsigned lane, ArgumentReader& arguments, std::string pattern,
             std::string& out) {
  const char letter = pattern.back();
  const bool wide =
      pattern.find('l') != std::string::npos || pattern.find('j') != std::string::npos ||
      pattern.find('z') != std::string::npos || pattern.find('t') != std::string::npos;
  std::erase_if(pattern, [](char c) { return c == 'l' || c == 'j' || c == 'z' || c == 't'; });
  uint64_t value = 0;
  switch (letter) {
    case 'd':
    case 'i':
      if (!arguments.read(wide ? 8 : 4, &value)) {
        return false;
      }
      pattern.insert(pattern.size() - 1, "ll");
      append(out, pattern,
             wide ? static_cast<long long>(value)
                  : static_cast<long long>(static_cast<int32_t>(value)));
      return true;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      if (!arguments.read(wide ? 8 : 4, &value)) {
        return false;
      }
      pattern.insert(pattern.size() - 1, "ll");
      append(out, pattern, static_cast<unsigned long long>(value));
      return true;
    case 'c':
      if (!arguments.read(4, &value)) {
        return false;
      }
      append(out, pattern, static_cast<int>(value));
      return true;
    case 'p':
      if (!arguments.read(8, &value)) {
        return false;
      }
      append(out, pattern, reinterpret_cast<void*>(value));
      return true;
    case 's': {
      std::string text;
      if (!arguments.read(8, &value) || !read_string(ctx, lane, value, &text)) {
        return false;
      }
      append(out, pattern, text.c_str());
      return true;
    }
    default:
      if (!arguments.read(8, &value)) {
        return false;
      }
      append(out, pattern, std::bit_cast<double>(value));
      return true;
  }
}

bool vprintf_call(ExecContext& ctx, unsigned lane, BuiltinCall& call) {
  std::string format;
  if (!read_string(ctx, lane, call.values[0], &format)) {
    return false;
  }
  ArgumentReader arguments(ctx, lane, call.values[1]);
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      out += '%';
      ++i;
      continue;
    }
    // Flags, width and precision belong to the conversion; '*' takes an argument.
    std::string pattern = "%";
    size_t at = i + 1;
    for (; at < format.size(); ++at) {
      if (format[at] == '*') {
        uint64_t number = 0;
        if (!arguments.read(4, &number)) {
          return false;
        }
        pattern += std::to_string(static_cast<int32_t>(number));
        continue;
      }
      pattern += format[at];
      if (std::strchr("diuxXocpsfFeEgGaA", format[at]) != nullptr) {
        break;
      }
    }
    if (at == format.size()) {
      ctx.warn("printf format '" + format + "' ends within a conversion");
      out += pattern;
      break;
    }
    if (!convert(ctx, lane, arguments, pattern, out)) {
      return false;
    }
    i = at;
  }
  ctx.grid->printed += out;
  call.result = out.size();
  return true;
}

bool assert_call(ExecContext& ctx, unsigned lane, BuiltinCall& call) {
  std::string message;
  std::string file;
  std::string function;
  if (read_string(ctx, lane, call.values[0], &message) &&
      read_string(ctx, lane, call.values[1], &file) &&
      read_string(ctx, lane, call.values[3], &function)) {
    ctx.fault(FaultKind::assertion,
              "assertion '" + message + "' failed in " + function + ", " + file + ":" +
                  std::to_string(call.values[2]),
              lane);
  }
  return false;
}

}  // namespace

Builtin find_builtin(std::string_view name) {
  if (name == "vprintf") {
    return vprintf_call;
  }
  if (name == "__assertfail") {
    return assert_call;
  }
  return nullptr;
}

}  // namespace emu
