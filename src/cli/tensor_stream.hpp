// SPDX-License-Identifier: Apache-2.0
// Quantising, decoding and copying tensors of files in chunks of rows, so that memory does not grow
// with the tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/device.hpp"
#include "cli/io/safetensors_file.hpp"
#include "cli/quantized_record.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cli {

// Told how many bytes of the input were done with since the last call.
using OnProgress = std::function<void(uint64_t bytes)>;

// The plain format of F32, BF16, F16; kNone for any other type.
internal::Format plain_format(Dtype dtype);

// Elements at an address that suits them: the mapped bytes themselves or, where the file has them
// at an odd place, a copy in `buffer`.
const void* aligned_elements(std::span<const uint8_t> bytes, size_t element_bytes,
                             std::vector<uint8_t>* buffer);

// Largest finite magnitude of F32, BF16 or F16 elements, 0 if there is none.
float finite_amax(Dtype dtype, const void* elements, int64_t count);

// How well a tensor survived quantising.
struct Fidelity {
  double signal = 0.0;  // sums of squares over elements finite before and after
  double noise = 0.0;
  uint64_t lost = 0;  // finite elements that became NaN, being in a block with one that was not

  void add(const Fidelity& other);
  // 10 log10(signal / noise): +Inf where nothing changed, NaN where there is no signal.
  double sqnr_db() const;
};

// Quantises `tensor` of `reader` as `desc` says, on its device, into the tensors of `record` of
// `writer`. The bytes are those of one call of mxgemm_quantize for the whole tensor. Throws
// CommandError.
Fidelity quantize_tensor(const SafetensorsReader& reader, const TensorInfo& tensor,
                         const mxgemm_quantize_desc& desc, SafetensorsWriter* writer,
                         const OnProgress& on_progress);

// Decodes a quantised tensor into tensor `name`, of type `dtype` (F32, BF16, F16), of `writer`, on
// `device`.
void dequantize_tensor(const QuantizedTensor& tensor, const std::string& name, Dtype dtype,
                       DeviceId device, SafetensorsWriter* writer, const OnProgress& on_progress);

// Copies the bytes of a tensor.
void copy_tensor(const SafetensorsReader& reader, const TensorInfo& tensor,
                 SafetensorsWriter* writer, const OnProgress& on_progress);

}  // namespace mxgemm::cli
