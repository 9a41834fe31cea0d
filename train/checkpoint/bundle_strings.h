#pragma once

#include <cstdint>
#include <string>

#include "core/graph/array.h"
#include "data/file.h"

namespace towerflow {

/// A string tensor as it was found in a checkpoint's data file.
struct StoredStrings {
  Array value{};
  std::uint32_t crc = 0;  ///< CRC-32C to compare with the index, unmasked
  std::string problem{};  ///< why it cannot be a tensor; empty where it can
};

/// Reads the `bytes` bytes at `offset`, which lie within the file, as the strings of a tensor: the
/// lengths as base-128 numbers, a masked CRC-32C of the lengths, the characters. Takes no more
/// memory than a fixed multiple of `bytes`.
StoredStrings read_strings(const InputFile& file, std::uint64_t offset, std::uint64_t bytes,
                           const Shape& shape);

}  // namespace towerflow
