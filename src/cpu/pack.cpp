// SPDX-License-Identifier: Apache-2.0
// Prepared weights: size, making, checking. packed_layout.hpp describes them.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/cpu_backend.hpp"
#include "cpu/packed_layout.hpp"
#include "cpu/scalar/scalar.h"
#include "cpu/scale_row.hpp"
#include "mxgemm/version.h"

namespace mxgemm::cpu {

namespace {

using internal::format_text;
using internal::StatusCode;

constexpr char kMagic[8] = {'M', 'X', 'G', 'E', 'M', 'M', 'P', 'K'};
constexpr uint32_t kPackedLayout = 1;  // raised when the arrangement of codes or scales changes
constexpr uint32_t kVersion =
    MXGEMM_VERSION_MAJOR * 1000000 + MXGEMM_VERSION_MINOR * 1000 + MXGEMM_VERSION_PATCH;
// Scale bytes of 1.
constexpr uint8_t kE8m0One = internal::kE8m0Bias;
constexpr uint8_t kE4m3One = internal::kE4m3Bias << internal::kE4m3MantissaBits;

PackedHeader make_header(Format format, int64_t n, int64_t k) {
  PackedHeader header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.layout = kPackedLayout;
  header.version = kVersion;
  header.format = static_cast<int32_t>(format);
  header.n = n;
  header.k = k;
  header.bytes = packed_size(format, n, k).value_or(0);  // 0: no operand can be such
  header.check = header_check(header);
  return header;
}

Status refuse(const std::string& found, const std::string& allowed) {
  return Status(StatusCode::kInvalidArgument, "b.data: " + found + "; " + allowed);
}

}  // namespace

uint64_t header_check(const PackedHeader& header) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  uint64_t hash = 0xCBF29CE484222325;
  for (size_t i = 0; i < offsetof(PackedHeader, check); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001B3;
  }
  return hash;
}

std::optional<uint64_t> packed_size(Format format, int64_t n, int64_t k) {
  const PackedShape shape = packed_shape(format, n, k);
  const int64_t tile_bytes = shape.code_tile_bytes + shape.scale_tile_bytes;
  const std::optional<int64_t> tiles = internal::checked_mul(shape.groups, shape.tiles);
  const std::optional<int64_t> bytes =
      tiles ? internal::checked_mul(*tiles, tile_bytes) : std::nullopt;
  if (!bytes || *bytes > INT64_MAX - shape.codes_offset()) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(shape.total_bytes());
}

void pack_scales(Format format, const ScaleView& scale, int64_t n0, int64_t cols, int64_t block0,
                 int64_t tiles, uint8_t* out) {
  const internal::FormatInfo& info = *internal::find_format(format);
  const int64_t blocks = tiles * (kTileK / info.block_size);
  const uint8_t one = info.scale_type == internal::ScaleType::kE8m0 ? kE8m0One : kE4m3One;
  std::memset(out, one, static_cast<size_t>(blocks * kTileCols));
  const int64_t real_blocks = std::min(blocks, scale.cols - block0);
  for (int64_t column = 0; column < cols; ++column) {
    ScaleRow(scale, n0 + column).copy(block0, real_blocks, out + column, kTileCols);
  }
}

void pack(Format format, int64_t n, int64_t k, const void* data, int64_t row_bytes,
          const ScaleView& scale, void* packed, const ParallelFor& parallel_for) {
  const internal::FormatInfo& info = *internal::find_format(format);
  const PackedShape shape = packed_shape(format, n, k);
  auto* out = static_cast<uint8_t*>(packed);
  const PackedHeader header = make_header(format, n, k);
  std::memcpy(out, &header, sizeof header);
  if (shape.tiles == 0) {
    return;  // however many columns there are
  }
  auto pack_group = [&](int64_t group) {
    const int64_t n0 = group * kTileCols;
    const int64_t cols = std::clamp<int64_t>(n - n0, 0, kTileCols);
    const int64_t first = group * shape.tiles;
    const auto pack_codes = info.element_bits == 4 ? scalar::pack_codes4 : scalar::pack_codes8;
    pack_codes(static_cast<const uint8_t*>(data) + n0 * row_bytes, row_bytes,
               static_cast<int32_t>(cols), k,
               out + shape.codes_offset() + first * shape.code_tile_bytes);
    pack_scales(format, scale, n0, cols, 0, shape.tiles,
                out + shape.scales_offset() + first * shape.scale_tile_bytes);
  };
  parallel_for(shape.groups, pack_group);
}

Status check_packed(const void* packed, uint64_t bytes, Format format, int64_t n, int64_t k) {
  const PackedHeader wanted = make_header(format, n, k);
  const std::string allowed =
      format_text("expected what mxgemm_pack %s made of a %lld x %lld %s operand (%llu bytes)",
                  MXGEMM_VERSION_STRING, static_cast<long long>(n), static_cast<long long>(k),
                  internal::format_name(format), static_cast<unsigned long long>(wanted.bytes));
  PackedHeader header{};
  if (bytes >= sizeof header) {
    std::memcpy(&header, packed, sizeof header);
  }
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
      header.check != header_check(header)) {
    return refuse("not a packed operand", allowed);
  }
  if (header.layout != kPackedLayout || header.version != kVersion) {
    return refuse(format_text("packed by version %u.%u.%u (layout %u)", header.version / 1000000,
                              header.version / 1000 % 1000, header.version % 1000, header.layout),
                  allowed);
  }
  if (header.format != wanted.format || header.n != n || header.k != k) {
    return refuse(format_text("a packed %lld x %lld %s operand", static_cast<long long>(header.n),
                              static_cast<long long>(header.k),
                              internal::format_name(static_cast<Format>(header.format))),
                  allowed);
  }
  if (bytes < wanted.bytes) {
    return refuse(format_text("b.data_bytes is %llu", static_cast<unsigned long long>(bytes)),
                  allowed);
  }
  return Status();
}

}  // namespace mxgemm::cpu
