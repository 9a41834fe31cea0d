#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "data/file.h"

namespace towerflow {

/// Keys and values of a table; std::string orders keys by bytes, as the format requires.
using IndexRecords = std::map<std::string, std::string, std::less<>>;

/// Writes `records` as a LevelDB table, the file format of a checkpoint's index, byte for byte as
/// TensorFlow does: blocks of 256 KiB, uncompressed, a restart point every 16 keys. Does not commit
/// the file. Throws the errors of the file.
void write_index_table(AtomicFile& file, const IndexRecords& records);

/// Calls `visit(key, value)` for each record of the LevelDB table in `file`, in key order.
///
/// The views are valid only during the call. Blocks may be compressed with Snappy. Any file is safe
/// to read: every checksum is verified, every length is checked against the file before memory is
/// allocated, and time and memory are linear in the size of the file. Throws DataLossError naming
/// the file if it is invalid. (LevelDB's own reader trusts lengths under a valid checksum, so that
/// a crafted block makes it read out of bounds. LevelDB is used only for writing.)
void read_index_table(
    const InputFile& file,
    const std::function<void(std::string_view key, std::string_view value)>& visit);

}  // namespace towerflow
