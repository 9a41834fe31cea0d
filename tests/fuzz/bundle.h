#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "train/checkpoint/index_table.h"

namespace towerflow::fuzz {

/// The two files of a checkpoint as one input: "CKPT", the length of the index in 4 bytes, the
/// index, the data. An input without this magic is an index without data.
struct Bundle {
  std::string index;
  std::string data;
};

bool is_bundle(std::string_view bytes);
Bundle split_bundle(std::string_view bytes);
std::string join_bundle(const Bundle& bundle);

/// Writes both files to the scratch folder and returns their prefix. The data files of a
/// checkpoint with two shards are links to the same file.
std::filesystem::path scratch_bundle(const Bundle& bundle);

/// Returns the records of an index up to the first damage.
IndexRecords table_records(std::string_view index);
/// Returns an index file with the records, its blocks compressed by Snappy if `snappy`.
std::string make_table(const IndexRecords& records, bool snappy);

/// Corrects the checksums of the blocks that can be found through a table's footer and index block.
void fix_table_checksums(std::string& index);

/// Corrects the checksums of tensors for the contents of `data`, and in `data` those of string
/// lengths.
void fix_tensor_checksums(IndexRecords& records, std::string& data);

/// Mutates a bundle: its bytes, its index with corrected checksums, a record of the index, or
/// values.
void mutate_bundle(std::string& bytes, std::size_t most, Random& random, const Mutate& plain);

}  // namespace towerflow::fuzz
