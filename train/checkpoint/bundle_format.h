#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace towerflow {

/// TensorFlow's version of the checkpoint format, which the reader supports and the writer
/// declares.
inline constexpr int kBundleVersion = 1;

/// PREFIX.index
std::filesystem::path bundle_index_path(const std::filesystem::path& prefix);

/// PREFIX.data-00000-of-00001
std::filesystem::path bundle_data_path(const std::filesystem::path& prefix, int shard, int shards);

/// Returns the CRC-32C `crc` extended by the length of a string, as 4 bytes, or as 8 if needed.
std::uint32_t extend_crc_by_length(std::uint32_t crc, std::uint64_t length) noexcept;

/// Returns a tensor's name quoted for a message: shortened, and with unprintable characters
/// replaced.
std::string quoted_name(std::string_view name);

}  // namespace towerflow
