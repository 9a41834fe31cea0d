#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/compression.h"
#include "tests/fuzz/target.h"

namespace towerflow::fuzz {

/// Returns the compression that the first bytes indicate; zlib only with its usual first byte.
data::Compression compression_of_bytes(std::string_view bytes);
/// Returns the decompressed bytes, or nullopt if they are damaged or more than 64 KiB.
std::optional<std::string> unpacked(std::string_view bytes);
std::string packed(std::string_view bytes, data::Compression compression);

/// Returns the records of a TFRecord file up to the first truncated one; ignores checksums.
std::vector<std::string> split_records(std::string_view bytes);
std::string join_records(const std::vector<std::string>& records);

/// Mutates the decompressed contents with `inner` and compresses them again. Bytes that are not
/// compressed go to `inner` directly, damaged ones to `plain`.
void mutate_unpacked(std::string& bytes, std::size_t most, Random& random, const Mutate& plain,
                     const Mutate& inner);

/// Mutates a TFRecord file: its bytes, with or without correcting the checksums, or one record.
void mutate_records(std::string& bytes, std::size_t most, Random& random, const Mutate& plain);

}  // namespace towerflow::fuzz
