#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace towerflow {

/// What reader and writer of a checkpoint share: TensorFlow's version of the format, the names of
/// its files and the checksum of a string tensor's lengths.
inline constexpr int kBundleVersion = 1;

/// PREFIX.index
std::filesystem::path bundle_index_path(const std::filesystem::path& prefix);

/// PREFIX.data-00000-of-00001
std::filesystem::path bundle_data_path(const std::filesystem::path& prefix, int shard, int shards);

/// The CRC-32C `crc` extended by the length of a string: as 4 bytes, or as 8 where it needs them.
std::uint32_t extend_crc_by_length(std::uint32_t crc, std::uint64_t length) noexcept;

/// A tensor's name fit for a message, however long and whatever is in it.
std::string shown_name(std::string_view name);

}  // namespace towerflow
