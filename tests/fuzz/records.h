#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/compression.h"
#include "tests/fuzz/target.h"

namespace towerflow::fuzz {

/// How the bytes are packed, by their first ones; zlib by its usual first byte.
data::Compression packing_of(std::string_view bytes);
/// What was packed, at most 64 KiB of it; nothing where the bytes are damaged.
std::optional<std::string> unpacked(std::string_view bytes);
std::string packed(std::string_view bytes, data::Compression compression);

/// The records of a TFRecord file up to the first that is not whole; checksums are not looked at.
std::vector<std::string> split_records(std::string_view bytes);
std::string join_records(const std::vector<std::string>& records);

/// Mutates what was packed with `inner` and packs it again; unpacked bytes are given to `inner`
/// as they are.
void mutate_unpacked(std::string& bytes, std::size_t most, Random& random, const Mutate& plain,
                     const Mutate& inner);

/// Mutates a TFRecord file: its bytes, with or without mending its checksums, or one record.
void mutate_records(std::string& bytes, std::size_t most, Random& random, const Mutate& plain);

}  // namespace towerflow::fuzz
