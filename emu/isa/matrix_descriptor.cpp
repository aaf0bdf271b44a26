// SPDX-License-Identifier: Apache-2.0
#include "isa/matrix_descriptor.hpp"

#include <cstdio>

namespace emu {
namespace {

constexpr uint64_t bits(uint64_t value, unsigned high, unsigned low) {
  return (value >> low) & ((uint64_t{1} << (high - low + 1)) - 1);
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llX", static_cast<unsigned long long>(value));
  return text;
}

bool known_operand(uint64_t code) {
  return code <= 5 && code != 2;
}

std::string reserved_fault(uint64_t descriptor) {
  if (bits(descriptor, 15, 14) != 0 || bits(descriptor, 31, 30) != 0 ||
      bits(descriptor, 60, 53) != 0) {
    return "reserved bits are set";
  }
  if (bits(descriptor, 48, 46) != 1) {
    return "bits 48:46 are " + std::to_string(bits(descriptor, 48, 46)) + "; allowed: 1";
  }
  if (bits(descriptor, 51, 49) != 0) {
    return "a base offset other than 0 is not supported";
  }
  if (bits(descriptor, 52, 52) != 0) {
    return "the absolute mode of the leading offset is not supported";
  }
  return {};
}

std::string types_fault(uint32_t descriptor, BlockScaledKind kind, InstructionDescriptor& d) {
  const auto a = static_cast<uint32_t>(bits(descriptor, 9, 7));
  const auto b = static_cast<uint32_t>(bits(descriptor, 12, 10));
  if (kind == BlockScaledKind::kMxf8f6f4) {
    if (!known_operand(a) || !known_operand(b)) {
      return "operand types " + std::to_string(a) + ", " + std::to_string(b) +
             "; allowed: 0, 1, 3, 4, 5";
    }
    d.a = static_cast<OperandType>(a);
    d.b = static_cast<OperandType>(b);
  } else if (a != 1 || b != 1) {
    return "operand types " + std::to_string(a) + ", " + std::to_string(b) +
           "; allowed for 4-bit kinds: 1 (e2m1)";
  }
  if (!d.ue8m0 && kind != BlockScaledKind::kMxf4Nvf4) {
    return "scale type 0 (ue4m3); this kind has ue8m0 scales";
  }
  return {};
}

std::string shape_fault(const InstructionDescriptor& d, uint32_t cta_group) {
  const uint32_t m = 128 * cta_group;
  if (d.m != m) {
    return "M is " + std::to_string(d.m) +
           "; supported with cta_group::" + std::to_string(cta_group) + ": " + std::to_string(m);
  }
  const uint32_t step = 8 * cta_group;
  if (d.n == 0 || d.n > 256 || d.n % step != 0) {
    return "N is " + std::to_string(d.n) + "; allowed: multiples of " + std::to_string(step) +
           " up to 256";
  }
  return {};
}

std::string scale_id_fault(uint32_t id, uint32_t scales_per_row) {
  const bool allowed = scales_per_row == 1 || id == 0 || (scales_per_row == 2 && id == 2);
  return allowed ? std::string{}
                 : "scale id " + std::to_string(id) + " with " + std::to_string(scales_per_row) +
                       " scales per row; allowed: " + (scales_per_row == 2 ? "0, 2" : "0");
}

}  // namespace

DecodedSharedMatrix decode_shared_matrix(uint64_t descriptor) {
  DecodedSharedMatrix decoded;
  SharedMatrix& m = decoded.matrix;
  m.start = static_cast<uint32_t>(bits(descriptor, 13, 0) * 16);
  m.leading = static_cast<uint32_t>(bits(descriptor, 29, 16) * 16);
  m.stride = static_cast<uint32_t>(bits(descriptor, 45, 32) * 16);
  decoded.fault = reserved_fault(descriptor);
  switch (bits(descriptor, 63, 61)) {
    case 0:
      break;
    case 1:
      m.swizzle = Swizzle::k128BAtom32;
      m.pitch = 128;
      break;
    case 2:
      m.swizzle = Swizzle::k128B;
      m.pitch = 128;
      break;
    case 4:
      m.swizzle = Swizzle::k64B;
      m.pitch = 64;
      break;
    case 6:
      m.swizzle = Swizzle::k32B;
      m.pitch = 32;
      break;
    default:
      decoded.fault =
          "swizzle mode " + std::to_string(bits(descriptor, 63, 61)) + "; allowed: 0, 1, 2, 4, 6";
  }
  if (!decoded.fault.empty()) {
    decoded.fault = "shared-memory descriptor " + hex(descriptor) + ": " + decoded.fault;
  }
  return decoded;
}

DecodedInstruction decode_instruction(uint32_t descriptor, BlockScaledKind kind,
                                      uint32_t scales_per_row, uint32_t cta_group) {
  DecodedInstruction decoded;
  InstructionDescriptor& d = decoded.instruction;
  d.negate_a = bits(descriptor, 13, 13) != 0;
  d.negate_b = bits(descriptor, 14, 14) != 0;
  d.ue8m0 = bits(descriptor, 23, 23) != 0;
  d.m = static_cast<uint32_t>(bits(descriptor, 28, 27) << 7);
  d.n = static_cast<uint32_t>(bits(descriptor, 22, 17) * 8);
  d.scale_id_a = static_cast<uint32_t>(bits(descriptor, 30, 29));
  d.scale_id_b = static_cast<uint32_t>(bits(descriptor, 5, 4));
  std::string& fault = decoded.fault;
  if (bits(descriptor, 3, 0) != 0 || bits(descriptor, 6, 6) != 0 || bits(descriptor, 26, 24) != 0) {
    fault = "reserved or sparsity bits are set";
  } else if (bits(descriptor, 16, 15) != 0) {
    fault = "transposed operands are not supported";
  } else if (bits(descriptor, 31, 31) != 0) {
    fault = "K = 96 is not supported";
  } else {
    fault = types_fault(descriptor, kind, d);
  }
  for (const std::string& next :
       {shape_fault(d, cta_group), scale_id_fault(d.scale_id_a, scales_per_row),
        scale_id_fault(d.scale_id_b, scales_per_row)}) {
    if (fault.empty()) {
      fault = next;
    }
  }
  if (!fault.empty()) {
    fault = "instruction descriptor " + hex(descriptor) + ": " + fault;
  }
  return decoded;
}

}  // namespace emu
