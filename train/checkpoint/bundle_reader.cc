#include "train/checkpoint/bundle_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <system_error>

#include "data/crc32c.h"
#include "train/checkpoint/bundle_format.h"
#include "train/checkpoint/bundle_strings.h"
#include "train/checkpoint/index_table.h"
#include "train/checkpoint/tensor_bundle.pb.h"

namespace towerflow {
namespace {

constexpr int kMaxRank = 254;  // TensorFlow's limit

[[noreturn]] void damaged_index(const std::filesystem::path& prefix, std::string_view what) {
  throw errors::DataLossError(
      fmt::format("{} is damaged: {}", bundle_index_path(prefix).string(), what));
}

[[noreturn]] void no_checkpoint(const std::filesystem::path& prefix) {
  const std::string text = prefix.string();
  std::error_code ignored;
  std::string hint;
  if (prefix.extension() == ".index" || prefix.extension().string().starts_with(".data-"))
    hint = fmt::format("give the common prefix of the files: {}",
                       (prefix.parent_path() / prefix.stem()).string());
  else if (std::filesystem::is_directory(prefix, ignored))
    hint = "this is a folder: latest_checkpoint names the newest checkpoint in it";
  else if (std::filesystem::is_regular_file(prefix, ignored))
    hint = "a single file without .index is a checkpoint in the old V1 format, which is not read";
  throw errors::NotFoundError(
      fmt::format("there is no checkpoint {0}: {0}.index does not exist", text),
      {.hint = std::move(hint)});
}

template <class Message>
bool parse(Message& message, std::string_view record) {
  return record.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
         message.ParseFromArray(record.data(), static_cast<int>(record.size()));
}

/// Returns the shape, or nothing if it is invalid or the product of its nonzero sizes overflows.
std::optional<Shape> shape_of(const proto::TensorShapeProto& message) {
  if (message.unknown_rank() || message.dim_size() > kMaxRank) return std::nullopt;
  std::vector<Dim> dims;
  std::int64_t product = 1;
  for (const auto& dim : message.dim()) {
    if (dim.size() < 0) return std::nullopt;
    if (dim.size() > 0 && __builtin_mul_overflow(product, dim.size(), &product))
      return std::nullopt;
    dims.emplace_back(dim.size());
  }
  return Shape(std::move(dims));
}

/// Returns the DType with this number; invalid if an Array cannot hold it.
DType dtype_of_number(int number) {
  if (number <= 0 || number > std::numeric_limits<std::uint8_t>::max()) return DType::invalid;
  const auto dtype = static_cast<DType>(number);
  return dtype_size(dtype) == 0 || dtype == DType::resource ? DType::invalid : dtype;
}

}  // namespace

TensorBundleReader::TensorBundleReader(std::filesystem::path prefix) : prefix_(std::move(prefix)) {
  try {
    std::optional<InputFile> index;
    try {
      index.emplace(bundle_index_path(prefix_));
    } catch (const errors::NotFoundError&) {
      no_checkpoint(prefix_);
    }
    read_index_table(*index, [this](std::string_view key, std::string_view record) {
      if (key.empty())
        read_header(record);
      else if (shards_ == 0)
        damaged_index(prefix_, "its header is missing");
      else if (key.front() != '\0')  // a zero byte marks a slice of a tensor
        read_entry(key, record);
    });
  } catch (const std::bad_alloc&) {
    throw errors::ResourceExhaustedError(
        fmt::format("not enough memory for {}", bundle_index_path(prefix_).string()));
  }
  if (shards_ == 0) damaged_index(prefix_, "its header is missing");
}

void TensorBundleReader::read_header(std::string_view record) {
  proto::BundleHeaderProto header;
  if (!parse(header, record) || header.num_shards() < 1)
    damaged_index(prefix_, "its header is not readable");
  if (header.endianness() != proto::BundleHeaderProto::LITTLE)
    throw errors::UnimplementedError(
        fmt::format("the checkpoint {} was written on a big-endian machine; only little-endian "
                    "ones are read",
                    prefix_.string()));
  const auto& bad = header.version().bad_consumers();
  if (header.version().min_consumer() > kBundleVersion ||
      std::find(bad.begin(), bad.end(), kBundleVersion) != bad.end())
    throw errors::UnimplementedError(
        fmt::format("the checkpoint {} needs a reader of version {} or later of the format, this "
                    "one knows version {}",
                    prefix_.string(), header.version().min_consumer(), kBundleVersion));
  shards_ = header.num_shards();
}

void TensorBundleReader::read_entry(std::string_view name, std::string_view record) {
  proto::BundleEntryProto entry;
  if (!parse(entry, record) || entry.dtype() == 0)
    damaged_index(prefix_, fmt::format("the entry of {} is not readable", quoted_name(name)));
  std::optional<Shape> shape = shape_of(entry.shape());
  if (!shape || entry.shard_id() < 0 || entry.shard_id() >= shards_ || entry.offset() < 0 ||
      entry.size() < 0)
    damaged_index(prefix_, fmt::format("the entry of {} is impossible", quoted_name(name)));
  tensors_.push_back({.name = std::string(name),
                      .dtype = dtype_of_number(entry.dtype()),
                      .shape = *std::move(shape),
                      .bytes = static_cast<std::uint64_t>(entry.size()),
                      .sliced = entry.slices_size() > 0,
                      .shard = entry.shard_id(),
                      .offset = static_cast<std::uint64_t>(entry.offset())});
  locations_.push_back({.dtype = entry.dtype(), .masked_crc = entry.crc32c()});
}

std::size_t TensorBundleReader::position(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      tensors_, name, {}, [](const TensorInfo& info) { return std::string_view(info.name); });
  const bool equal = found != tensors_.end() && found->name == name;
  return equal ? static_cast<std::size_t>(found - tensors_.begin()) : tensors_.size();
}

bool TensorBundleReader::contains(std::string_view name) const {
  return position(name) < tensors_.size();
}

const TensorInfo& TensorBundleReader::info(std::string_view name) const {
  const std::size_t place = position(name);
  if (place == tensors_.size())
    throw errors::NotFoundError(
        fmt::format("Key {} not found in checkpoint {}", name, prefix_.string()));
  return tensors_[place];
}

const InputFile& TensorBundleReader::shard_file(int shard) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<InputFile>& file = files_[shard];
  if (!file) {
    try {
      file = std::make_unique<InputFile>(bundle_data_path(prefix_, shard, shards_));
    } catch (const errors::NotFoundError&) {
      rethrow_with({.hint = "a checkpoint is its .index file and every .data file beside it"});
    }
  }
  return *file;
}

Array TensorBundleReader::read(std::string_view name) const {
  const TensorInfo& found = info(name);
  const Location& location = locations_[static_cast<std::size_t>(&found - tensors_.data())];
  if (found.sliced)
    throw errors::UnimplementedError(
        fmt::format("tensor {} in the checkpoint {} is stored in slices, which are not read",
                    quoted_name(name), prefix_.string()),
        {.hint = "save the variable without a partitioner"});
  if (found.dtype == DType::invalid)
    throw errors::UnimplementedError(
        fmt::format("tensor {} in the checkpoint {} has TensorFlow's dtype number {}, which has no "
                    "counterpart here",
                    quoted_name(name), prefix_.string(), location.dtype));
  try {
    return read_value(found, location, shard_file(found.shard));
  } catch (const std::bad_alloc&) {
    throw errors::ResourceExhaustedError(
        fmt::format("not enough memory for tensor {}", quoted_name(name)));
  }
}

Array TensorBundleReader::read_value(const TensorInfo& info, const Location& location,
                                     const InputFile& file) const {
  const auto throw_damaged = [&](const std::string& what) {
    throw errors::DataLossError(fmt::format("tensor {} in {} is damaged: {}",
                                            quoted_name(info.name), file.path().string(), what));
  };
  const std::uint64_t file_bytes = file.size().value_or(0);
  if (info.offset > file_bytes || info.bytes > file_bytes - info.offset)
    throw_damaged(fmt::format("{} bytes wanted at byte {}, the file ends at {}", info.bytes,
                              info.offset, file_bytes));
  if (info.dtype == DType::string) {
    StoredStrings strings = read_strings(file, info.offset, info.bytes, info.shape);
    if (!strings.problem.empty()) throw_damaged(strings.problem);
    if (masked_crc(strings.crc) != location.masked_crc) throw_damaged("wrong checksum");
    return std::move(strings.value);
  }
  std::uint64_t wanted = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(info.shape.elements()),
                             dtype_size(info.dtype), &wanted) ||
      wanted != info.bytes)
    throw_damaged(fmt::format("{} values of {} do not take {} bytes", info.shape.text(),
                              dtype_name(info.dtype), info.bytes));
  Array value(info.dtype, info.shape);
  const std::span bytes(static_cast<std::byte*>(value.raw()), value.bytes());
  file.read_exactly_at(info.offset, bytes);
  if (masked_crc(crc32c(bytes)) != location.masked_crc) throw_damaged("wrong checksum");
  // Loading a bool that is neither 0 nor 1 is undefined behaviour.
  if (info.dtype == DType::bool_ &&
      std::ranges::any_of(bytes, [](std::byte byte) { return byte > std::byte{1}; }))
    throw_damaged("a bool is neither 0 nor 1");
  return value;
}

}  // namespace towerflow
