#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "data/file.h"

namespace towerflow {

/// Keys and values of a table; std::string orders keys by bytes, as the format wants them.
using IndexRecords = std::map<std::string, std::string, std::less<>>;

/// Writes `records` as a LevelDB table, the file format of a checkpoint's index, byte for byte as
/// TensorFlow does: blocks of 256 KiB, uncompressed, a restart point every 16 keys. Does not commit
/// the file. Throws what the file throws.
void write_index_table(AtomicFile& file, const IndexRecords& records);

/// Calls `visit(key, value)` for each record of the LevelDB table in `file`, in key order.
///
/// The views live during the call only. Blocks may be compressed by Snappy. Any file is safe to
/// read: every checksum is verified, every length is checked against the file before memory is
/// taken, and time and memory are linear in the size of the file; what does not fit is a
/// DataLossError naming the file. (LevelDB's own reader trusts lengths under a valid checksum: a
/// crafted block makes it read outside of its memory. It is used for writing only.)
void read_index_table(
    const InputFile& file,
    const std::function<void(std::string_view key, std::string_view value)>& visit);

}  // namespace towerflow
