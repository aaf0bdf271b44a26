// SPDX-License-Identifier: Apache-2.0
#include "cli/io/safetensors_file.hpp"

#include <utility>

#include "cli/io/file_error.hpp"

namespace mxgemm::cli {

using internal::StatusCode;

Status SafetensorsReader::open(const std::string& path, SafetensorsReader* reader) {
  SafetensorsReader opened;
  opened.path_ = path;
  MXGEMM_TRY(MappedFile::open(path, &opened.file_));
  MXGEMM_TRY(with_prefix(path, parse_safetensors_header(opened.file_.bytes(), &opened.header_)));
  for (size_t i = 0; i < opened.header_.tensors.size(); ++i) {
    opened.by_name_.emplace(opened.header_.tensors[i].name, i);
  }
  *reader = std::move(opened);
  return {};
}

const TensorInfo* SafetensorsReader::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

Status SafetensorsWriter::create(const std::string& path, std::vector<TensorInfo> tensors,
                                 const Metadata& metadata,
                                 std::unique_ptr<SafetensorsWriter>* writer) {
  auto created = std::make_unique<SafetensorsWriter>();
  MXGEMM_TRY(with_prefix(path, place_tensors(&tensors)));
  created->tensors_ = std::move(tensors);
  for (size_t i = 0; i < created->tensors_.size(); ++i) {
    const std::string& name = created->tensors_[i].name;
    if (!created->by_name_.emplace(name, i).second) {
      return file_error("%s: two tensors would be called %s", path.c_str(),
                        quoted_text(name).c_str());
    }
  }
  std::string header;
  MXGEMM_TRY(with_prefix(path, make_safetensors_header(created->tensors_, metadata, &header)));
  created->data_start_ = header.size();
  created->data_bytes_ = created->tensors_.empty() ? 0 : created->tensors_.back().end;
  MXGEMM_TRY(OutputFile::create(path, header.size() + created->data_bytes_, &created->file_));
  MXGEMM_TRY(created->file_->write_at(0, header.data(), header.size()));
  *writer = std::move(created);
  return {};
}

Status SafetensorsWriter::write(std::string_view name, uint64_t offset,
                                std::span<const uint8_t> bytes) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || offset > tensors_[found->second].bytes() ||
      bytes.size() > tensors_[found->second].bytes() - offset) {
    return {StatusCode::kInternal, "a write outside tensor " + quoted_text(name)};
  }
  written_ += bytes.size();
  return file_->write_at(data_start_ + tensors_[found->second].begin + offset, bytes.data(),
                         bytes.size());
}

Status SafetensorsWriter::finish(OutputFile** file) {
  if (written_ != data_bytes_) {
    return {StatusCode::kInternal, file_->path() + ": " + std::to_string(written_) + " of " +
                                       std::to_string(data_bytes_) + " bytes written"};
  }
  MXGEMM_TRY(file_->complete());
  *file = file_.get();
  return {};
}

}  // namespace mxgemm::cli
