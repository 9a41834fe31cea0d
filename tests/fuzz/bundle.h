#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "train/checkpoint/index_table.h"

namespace towerflow::fuzz {

/// The two files of a checkpoint as one input: "CKPT", the length of the index in 4 bytes, the
/// index, the data. An input that begins otherwise is an index without data.
struct Bundle {
  std::string index;
  std::string data;
};

bool is_bundle(std::string_view bytes);
Bundle split_bundle(std::string_view bytes);
std::string join_bundle(const Bundle& bundle);

/// Writes both files into the scratch folder; the prefix. Data files of two shards are the same
/// one.
std::filesystem::path scratch_bundle(const Bundle& bundle);

/// The records of an index, up to the first damage.
IndexRecords table_records(std::string_view index);
/// The records as the file of an index, its blocks compressed by Snappy or not.
std::string make_table(const IndexRecords& records, bool snappy);

/// Makes the checksums of a table's blocks fit, as far as its footer and its index block lead to
/// them.
void fix_table_checksums(std::string& index);

/// Makes the checksums of tensors fit what `data` holds, those of lengths of strings in it too.
void fix_tensor_checksums(IndexRecords& records, std::string& data);

/// Mutates a bundle: its bytes, its index with mended checksums, a record of the index, or values.
void mutate_bundle(std::string& bytes, std::size_t most, Random& random, const Mutate& plain);

}  // namespace towerflow::fuzz
