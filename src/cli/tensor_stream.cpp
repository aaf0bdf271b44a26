// SPDX-License-Identifier: Apache-2.0
#include "cli/tensor_stream.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/math.hpp"
#include "cli/check_status.hpp"
#include "cli/io/file_error.hpp"
#include "cli/staging.hpp"
#include "formats/scale_layout.hpp"

namespace mxgemm::cli {
namespace {

using internal::Format;

// Large enough that starting the library's threads costs nothing beside the work, small enough that
// a chunk and what is made of it stay in the cache of a few cores.
constexpr uint64_t kChunkBytes = 8 << 20;

// Rows of a chunk: as many as fit, at least one; whole tiles where scales are swizzled, so that the
// scales of a chunk are one piece of the scales of the tensor.
int64_t chunk_rows(uint64_t row_bytes, internal::ScaleLayout layout) {
  const int64_t step =
      layout == internal::ScaleLayout::kSwizzle32x4x4 ? internal::kScaleTileRows : 1;
  const auto fitting = static_cast<int64_t>(kChunkBytes / std::max<uint64_t>(row_bytes, 1));
  return std::max<int64_t>(fitting / step, 1) * step;
}

// The largest bit pattern without sign below that of infinity: patterns order as magnitudes do.
template <typename Bits>
Bits finite_max_bits(const Bits* elements, int64_t count, Bits infinity) {
  const auto mask = static_cast<Bits>(std::numeric_limits<Bits>::max() >> 1);
  Bits largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<Bits>(elements[i] & mask);
    largest = std::max(largest, magnitude < infinity ? magnitude : Bits{0});
  }
  return largest;
}

template <typename Decode>
Fidelity compare(const float* decoded, int64_t count, Decode original) {
  Fidelity result;
  for (int64_t i = 0; i < count; ++i) {
    const double before = original(i);
    const double after = decoded[i];
    if (std::isfinite(before) && std::isfinite(after)) {
      result.signal += before * before;
      result.noise += (before - after) * (before - after);
    } else if (std::isfinite(before)) {
      ++result.lost;
    }
  }
  return result;
}

Fidelity compare_chunk(Dtype dtype, const void* elements, const float* decoded, int64_t count) {
  if (dtype == Dtype::kF32) {
    const auto* values = static_cast<const float*>(elements);
    return compare(decoded, count, [values](int64_t i) { return double{values[i]}; });
  }
  const auto* codes = static_cast<const uint16_t*>(elements);
  if (dtype == Dtype::kBf16) {
    return compare(decoded, count,
                   [codes](int64_t i) { return double{internal::bf16_decode(codes[i])}; });
  }
  return compare(decoded, count,
                 [codes](int64_t i) { return double{internal::f16_decode(codes[i])}; });
}

std::span<const uint8_t> rows_of(std::span<const uint8_t> bytes, int64_t row, int64_t rows,
                                 uint64_t row_bytes) {
  return bytes.subspan(static_cast<uint64_t>(row) * row_bytes,
                       static_cast<uint64_t>(rows) * row_bytes);
}

uint64_t scale_bytes(const mxgemm_quantize_desc& desc, int64_t rows) {
  uint64_t bytes = 0;
  check(mxgemm_scale_size(desc.format, desc.scale_layout, rows, desc.cols, &bytes));
  return bytes;
}

// NVFP4's global scale of a whole tensor (docs/formats.md), which a chunk alone does not know.
float global_scale_of(const SafetensorsReader& reader, const TensorInfo& tensor) {
  const auto bytes = reader.bytes(tensor);
  const auto element_bytes = static_cast<size_t>(dtype_bits(tensor.dtype) / 8);
  std::vector<uint8_t> buffer;
  float amax = 0.0f;
  for (uint64_t at = 0; at < bytes.size(); at += kChunkBytes) {
    const auto part = bytes.subspan(at, std::min<uint64_t>(kChunkBytes, bytes.size() - at));
    const void* elements = aligned_elements(part, element_bytes, &buffer);
    amax = std::max(amax, finite_amax(tensor.dtype, elements,
                                      static_cast<int64_t>(part.size() / element_bytes)));
    reader.file().drop(reader.offset(tensor) + at, part.size());
  }
  constexpr float kLargestProduct = 2688.0f;  // largest element 6 x largest block scale 448
  constexpr float kSmallest = 0x1p-126f;
  return amax == 0.0f ? 1.0f : std::max(amax / kLargestProduct, kSmallest);
}

// Quantises one chunk after the other into buffers that are kept.
class ChunkQuantizer {
 public:
  ChunkQuantizer(const mxgemm_quantize_desc& desc, float global_scale)
      : desc_(desc), global_scale_(global_scale) {}

  DeviceId device() const { return {desc_.device_kind, desc_.device_index}; }

  void run(const void* elements, int64_t row, int64_t rows) {
    mxgemm_quantize_desc desc = desc_;
    desc.rows = rows;
    if (desc.rounding == MXGEMM_ROUND_STOCHASTIC) {
      // A counter serves 4 elements, and rows are whole blocks.
      desc.offset += static_cast<uint64_t>(row) * static_cast<uint64_t>(desc.cols / 4);
    }
    uint64_t qdata_bytes = 0;
    check(mxgemm_qdata_size(desc.format, rows, desc.cols, &qdata_bytes));
    qdata_.resize(qdata_bytes);
    scale_.resize(scale_bytes(desc, rows));
    mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
    args.src_bytes =
        static_cast<uint64_t>(rows * desc.cols) *
        static_cast<uint64_t>(
            internal::find_format(static_cast<Format>(desc.format_src))->element_bits / 8);
    args.src = src_on_device_.in(elements, args.src_bytes);
    args.qdata = qdata_on_device_.out(qdata_.data(), qdata_.size());
    args.qdata_bytes = qdata_.size();
    args.scale = static_cast<uint8_t*>(scale_on_device_.out(scale_.data(), scale_.size()));
    args.scale_bytes = scale_.size();
    if (desc.global_scale_mode == MXGEMM_GLOBAL_SCALE_GIVEN) {
      args.global_scale = static_cast<float*>(const_cast<void*>(
          global_scale_on_device_.in(&global_scale_, sizeof global_scale_)));  // read only
    }
    check(mxgemm_quantize_workspace_size(&desc, &args.workspace_bytes));
    args.workspace = workspace_.scratch(args.workspace_bytes);
    check(mxgemm_quantize(&desc, &args, nullptr));
    qdata_on_device_.fetch(qdata_.data(), qdata_.size());
    scale_on_device_.fetch(scale_.data(), scale_.size());
  }

  // The last chunk, decoded.
  const float* decode(int64_t rows) {
    decoded_.resize(static_cast<size_t>(rows * desc_.cols));
    mxgemm_operand operand = MXGEMM_OPERAND_INIT;
    operand.global_scale = global_scale_;
    operand.data = qdata_on_device_.out(qdata_.data(), qdata_.size());
    operand.data_bytes = qdata_.size();
    operand.scale = static_cast<uint8_t*>(scale_on_device_.out(scale_.data(), scale_.size()));
    operand.scale_bytes = scale_.size();
    const uint64_t bytes = decoded_.size() * sizeof(float);
    check(mxgemm_dequantize(desc_.device_kind, desc_.device_index, desc_.format, rows, desc_.cols,
                            &operand, desc_.scale_layout, 0, MXGEMM_F32,
                            decoded_on_device_.out(decoded_.data(), bytes), bytes, 0, nullptr));
    decoded_on_device_.fetch(decoded_.data(), bytes);
    return decoded_.data();
  }

  std::span<const uint8_t> qdata() const { return qdata_; }
  std::span<const uint8_t> scale() const { return scale_; }

 private:
  mxgemm_quantize_desc desc_;
  float global_scale_;
  std::vector<uint8_t> qdata_;
  std::vector<uint8_t> scale_;
  std::vector<float> decoded_;
  Staging src_on_device_{device()};
  Staging qdata_on_device_{device()};
  Staging scale_on_device_{device()};
  Staging global_scale_on_device_{device()};
  Staging workspace_{device()};
  Staging decoded_on_device_{device()};
};

}  // namespace

Format plain_format(Dtype dtype) {
  return dtype == Dtype::kF32    ? Format::kF32
         : dtype == Dtype::kBf16 ? Format::kBf16
         : dtype == Dtype::kF16  ? Format::kF16
                                 : Format::kNone;
}

const void* aligned_elements(std::span<const uint8_t> bytes, size_t element_bytes,
                             std::vector<uint8_t>* buffer) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % element_bytes == 0) {
    return bytes.data();
  }
  buffer->assign(bytes.begin(), bytes.end());
  return buffer->data();
}

float finite_amax(Dtype dtype, const void* elements, int64_t count) {
  if (dtype == Dtype::kF32) {
    return std::bit_cast<float>(
        finite_max_bits<uint32_t>(static_cast<const uint32_t*>(elements), count, 0x7F800000u));
  }
  const auto* codes = static_cast<const uint16_t*>(elements);
  return dtype == Dtype::kBf16
             ? static_cast<float>(
                   internal::bf16_decode(finite_max_bits<uint16_t>(codes, count, 0x7F80)))
             : static_cast<float>(
                   internal::f16_decode(finite_max_bits<uint16_t>(codes, count, 0x7C00)));
}

void Fidelity::add(const Fidelity& other) {
  signal += other.signal;
  noise += other.noise;
  lost += other.lost;
}

double Fidelity::sqnr_db() const {
  return 10.0 * std::log10(signal / noise);
}

Fidelity quantize_tensor(const SafetensorsReader& reader, const TensorInfo& tensor,
                         const mxgemm_quantize_desc& desc, SafetensorsWriter* writer,
                         const OnProgress& on_progress) {
  const int64_t rows = tensor.shape[0];
  mxgemm_quantize_desc chunk_desc = desc;
  chunk_desc.cols = tensor.shape[1];
  chunk_desc.format_src = static_cast<int32_t>(plain_format(tensor.dtype));
  float global_scale = 1.0f;
  if (internal::find_format(static_cast<Format>(desc.format))->has_global_scale) {
    if (desc.global_scale_mode == MXGEMM_GLOBAL_SCALE_COMPUTE) {
      global_scale = global_scale_of(reader, tensor);
      chunk_desc.global_scale_mode = MXGEMM_GLOBAL_SCALE_GIVEN;
    }
    check(writer->write(global_scale_name(tensor.name), 0,
                        {reinterpret_cast<const uint8_t*>(&global_scale), sizeof global_scale}));
  }
  const auto element_bytes = static_cast<uint64_t>(dtype_bits(tensor.dtype) / 8);
  const uint64_t row_bytes = static_cast<uint64_t>(chunk_desc.cols) * element_bytes;
  const int64_t step = chunk_rows(row_bytes, static_cast<internal::ScaleLayout>(desc.scale_layout));
  ChunkQuantizer quantizer(chunk_desc, global_scale);
  std::vector<uint8_t> buffer;
  Fidelity fidelity;
  uint64_t qdata_at = 0;
  uint64_t scale_at = 0;
  for (int64_t row = 0; row < rows; row += step) {
    const int64_t count = std::min(step, rows - row);
    const auto bytes = rows_of(reader.bytes(tensor), row, count, row_bytes);
    const void* elements = aligned_elements(bytes, element_bytes, &buffer);
    quantizer.run(elements, row, count);
    fidelity.add(
        compare_chunk(tensor.dtype, elements, quantizer.decode(count), count * chunk_desc.cols));
    check(writer->write(qdata_name(tensor.name), qdata_at, quantizer.qdata()));
    check(writer->write(scale_name(tensor.name), scale_at, quantizer.scale()));
    qdata_at += quantizer.qdata().size();
    scale_at += quantizer.scale().size();
    reader.file().drop(reader.offset(tensor) + static_cast<uint64_t>(row) * row_bytes,
                       bytes.size());
    on_progress(bytes.size());
  }
  return fidelity;
}

void dequantize_tensor(const QuantizedTensor& tensor, const std::string& name, Dtype dtype,
                       DeviceId device, SafetensorsWriter* writer, const OnProgress& on_progress) {
  const QuantizedRecord& record = tensor.record;
  const auto format = static_cast<int32_t>(record.format);
  const auto layout = static_cast<int32_t>(record.scale_layout);
  const auto element_bytes = static_cast<uint64_t>(dtype_bits(dtype) / 8);
  const int64_t step =
      chunk_rows(static_cast<uint64_t>(record.cols) * element_bytes, record.scale_layout);
  std::span<const uint8_t> qdata = tensor.shard->bytes(*tensor.qdata);
  std::span<const uint8_t> scale = tensor.shard->bytes(*tensor.scale);
  std::vector<uint32_t> out;  // aligned for every type
  Staging qdata_on_device(device);
  Staging scale_on_device(device);
  Staging out_on_device(device);
  uint64_t out_at = 0;
  for (int64_t row = 0; row < record.rows; row += step) {
    const int64_t count = std::min(step, record.rows - row);
    mxgemm_operand operand = MXGEMM_OPERAND_INIT;
    operand.global_scale = tensor.global_scale;
    check(mxgemm_qdata_size(format, count, record.cols, &operand.data_bytes));
    check(mxgemm_scale_size(format, layout, count, record.cols, &operand.scale_bytes));
    operand.data = qdata_on_device.in(qdata.data(), operand.data_bytes);
    operand.scale =
        static_cast<const uint8_t*>(scale_on_device.in(scale.data(), operand.scale_bytes));
    const uint64_t out_bytes =
        static_cast<uint64_t>(count) * static_cast<uint64_t>(record.cols) * element_bytes;
    out.resize(internal::ceil_div<uint64_t>(out_bytes, sizeof(uint32_t)));
    check(mxgemm_dequantize(device.kind, device.index, format, count, record.cols, &operand, layout,
                            0, static_cast<int32_t>(plain_format(dtype)),
                            out_on_device.out(out.data(), out_bytes), out_bytes, 0, nullptr));
    out_on_device.fetch(out.data(), out_bytes);
    check(writer->write(name, out_at, {reinterpret_cast<const uint8_t*>(out.data()), out_bytes}));
    out_at += out_bytes;
    const auto file_offset =
        static_cast<uint64_t>(qdata.data() - tensor.shard->file().bytes().data());
    tensor.shard->file().drop(file_offset, operand.data_bytes);
    on_progress(operand.data_bytes + operand.scale_bytes);
    qdata = qdata.subspan(operand.data_bytes);
    scale = scale.subspan(operand.scale_bytes);
  }
}

void copy_tensor(const SafetensorsReader& reader, const TensorInfo& tensor,
                 SafetensorsWriter* writer, const OnProgress& on_progress) {
  const auto bytes = reader.bytes(tensor);
  for (uint64_t at = 0; at < bytes.size(); at += kChunkBytes) {
    const auto part = bytes.subspan(at, std::min<uint64_t>(kChunkBytes, bytes.size() - at));
    check(writer->write(tensor.name, at, part));
    reader.file().drop(reader.offset(tensor) + at, part.size());
    on_progress(part.size());
  }
}

}  // namespace mxgemm::cli
