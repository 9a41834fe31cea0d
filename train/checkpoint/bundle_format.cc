#include "train/checkpoint/bundle_format.h"

#include <fmt/format.h>

#include <bit>
#include <span>

#include "data/crc32c.h"

namespace towerflow {

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory, and the header says little-endian");

std::filesystem::path bundle_index_path(const std::filesystem::path& prefix) {
  return prefix.string() + ".index";
}

std::filesystem::path bundle_data_path(const std::filesystem::path& prefix, int shard, int shards) {
  return fmt::format("{}.data-{:05d}-of-{:05d}", prefix.string(), shard, shards);
}

std::uint32_t extend_crc_by_length(std::uint32_t crc, std::uint64_t length) noexcept {
  if (length > UINT32_MAX) return crc32c_extend(crc, std::as_bytes(std::span(&length, 1)));
  const auto narrow = static_cast<std::uint32_t>(length);
  return crc32c_extend(crc, std::as_bytes(std::span(&narrow, 1)));
}

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kLimit = 200;
  std::string text = "'";
  for (const char c : name.substr(0, kLimit)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (name.size() > kLimit ? "...'" : "'");
}

}  // namespace towerflow
