#include "train/checkpoint/bundle_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "data/crc32c.h"
#include "train/checkpoint/bundle_format.h"
#include "train/checkpoint/index_table.h"
#include "train/checkpoint/tensor_bundle.pb.h"

namespace towerflow {
namespace {

std::filesystem::path prepared_prefix(const std::filesystem::path& prefix) {
  if (prefix.filename().empty())
    throw errors::InvalidArgumentError(
        fmt::format("\"{}\" cannot be the prefix of a checkpoint: it names no file",
                    prefix.string()),
        {.hint = "add a name to the folder, such as model.ckpt"});
  // A failure is reported when the file is created, with a better message.
  std::error_code ignored;
  if (prefix.has_parent_path()) std::filesystem::create_directory(prefix.parent_path(), ignored);
  return prefix;
}

std::string header_record() {
  proto::BundleHeaderProto header;
  header.set_num_shards(1);
  header.set_endianness(proto::BundleHeaderProto::LITTLE);
  header.mutable_version()->set_producer(kBundleVersion);
  return header.SerializeAsString();
}

void append_varint(std::string& text, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  text += static_cast<char>(value);
}

}  // namespace

TensorBundleWriter::TensorBundleWriter(const std::filesystem::path& prefix)
    : prefix_(prepared_prefix(prefix)), data_(bundle_data_path(prefix_, 0, 1)) {
  records_.emplace("", header_record());
}

std::uint32_t TensorBundleWriter::append_bytes(std::span<const std::byte> bytes,
                                               std::uint32_t crc) {
  // Each piece is still cached when its checksum is computed, and already on its way to the disk.
  constexpr std::size_t kPiece = 4U << 20;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPiece));
    data_.append(piece);
    crc = crc32c_extend(crc, piece);
    bytes = bytes.subspan(piece.size());
  }
  return crc;
}

// Writes all lengths, a checksum of the lengths, then all characters. The tensor's checksum covers
// the lengths as fixed-size integers, the first checksum and the characters.
std::uint32_t TensorBundleWriter::append_strings(std::span<const std::string> strings) {
  std::uint32_t crc = 0;
  std::string length;
  for (const std::string& text : strings) {
    length.clear();
    append_varint(length, text.size());
    data_.append(length);
    crc = extend_crc_by_length(crc, text.size());
  }
  const std::uint32_t lengths_crc = masked_crc(crc);
  crc = append_bytes(std::as_bytes(std::span(&lengths_crc, 1)), crc);
  for (const std::string& text : strings) crc = append_bytes(bytes_of(text), crc);
  return crc;
}

void TensorBundleWriter::add(std::string_view name, const Array& value) {
  if (finished_)
    throw errors::FailedPreconditionError(fmt::format(
        "the checkpoint {} is finished: {} cannot be added", prefix_.string(), quoted_name(name)));
  if (name.empty())
    throw errors::InvalidArgumentError("a tensor in a checkpoint needs a name, got an empty one");
  // TensorFlow's keys for slices begin with a zero byte.
  if (name.front() == '\0')
    throw errors::InvalidArgumentError("a tensor's name cannot begin with a zero byte");
  if (records_.contains(name))
    throw errors::InvalidArgumentError(fmt::format("{} was already added to the checkpoint {}",
                                                   quoted_name(name), prefix_.string()));
  if (value.empty() || value.dtype() == DType::resource)
    throw errors::InvalidArgumentError(
        fmt::format("{} has no value that a file can hold: its dtype is {}", quoted_name(name),
                    dtype_name(value.dtype())));

  proto::BundleEntryProto entry;
  entry.set_dtype(static_cast<int>(value.dtype()));
  entry.mutable_shape();  // set even if it has no dimensions
  for (const std::int64_t size : value.shape().sizes()) {
    entry.mutable_shape()->add_dim()->set_size(size);
  }
  entry.set_offset(static_cast<std::int64_t>(data_.size()));
  const auto count = static_cast<std::size_t>(value.elements());
  const std::uint32_t crc =
      value.dtype() == DType::string
          ? append_strings({static_cast<const std::string*>(value.raw()), count})
          : append_bytes({static_cast<const std::byte*>(value.raw()), value.bytes()}, 0);
  entry.set_size(static_cast<std::int64_t>(data_.size()) - entry.offset());
  entry.set_crc32c(masked_crc(crc));
  records_.emplace(name, entry.SerializeAsString());
}

void TensorBundleWriter::finish() {
  if (finished_)
    throw errors::FailedPreconditionError(
        fmt::format("the checkpoint {} is already finished", prefix_.string()));
  finished_ = true;
  AtomicFile index(bundle_index_path(prefix_));
  write_index_table(index, records_);
  AtomicFile::commit_together(data_, index);
}

}  // namespace towerflow
