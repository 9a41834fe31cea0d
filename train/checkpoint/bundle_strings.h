#pragma once

#include <cstdint>
#include <string>

#include "core/graph/array.h"
#include "data/file.h"

namespace towerflow {

/// A string tensor read from a checkpoint's data file.
struct StoredStrings {
  Array value{};
  std::uint32_t crc = 0;  ///< CRC-32C to compare with the index, unmasked
  std::string problem{};  ///< why it is not a valid tensor; empty if it is
};

/// Reads the strings of a tensor from the `bytes` bytes at `offset`, which must be within the file:
/// the lengths as varints, a masked CRC-32C of the lengths, then the characters. Uses memory of at
/// most a fixed multiple of `bytes`.
StoredStrings read_strings(const InputFile& file, std::uint64_t offset, std::uint64_t bytes,
                           const Shape& shape);

}  // namespace towerflow
