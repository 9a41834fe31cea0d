#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/graph/array.h"

namespace towerflow::interop {

struct NamedArray {
  std::string name;
  Array value;
};

/// Reads arrays in the format that support.py also reads and writes: FOLDER/list.json with the
/// name, dtype and shape of each array, FOLDER/values.bin with their bytes in order, each string
/// preceded by its length in 8 bytes.
std::vector<NamedArray> read_arrays(const std::filesystem::path& folder);

/// Writes arrays in the same format and creates the folder.
void write_arrays(const std::filesystem::path& folder, const std::vector<NamedArray>& arrays);

}  // namespace towerflow::interop
