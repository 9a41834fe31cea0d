#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "core/graph/array.h"
#include "data/compression.h"
#include "data/statistics.h"

namespace towerflow::data {

/// A summary of an IDX file, made without holding its content in memory.
struct IdxSummary {
  DType dtype = DType::invalid;
  Shape shape;
  Compression compression = Compression::none;
  Statistics values{};
  /// How often each value occurs, if the dtype is uint8.
  std::array<std::uint64_t, 256> counts{};
};

/// Summarizes an IDX file, which is read in pieces. `progress`, if given, is called after each
/// piece with the bytes of data read so far and in total. Memory: one piece of 64 KiB. Throws what
/// `read_idx` throws.
IdxSummary summarize_idx(
    const std::filesystem::path& path,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace towerflow::data
