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

/// Arrays in a form that Python writes and reads too (support.py): FOLDER/list.json with name,
/// dtype and shape of each, FOLDER/values.bin with their bytes one after another; before a string
/// its length in 8 bytes.
std::vector<NamedArray> read_arrays(const std::filesystem::path& folder);

/// The same, written; the folder is made.
void write_arrays(const std::filesystem::path& folder, const std::vector<NamedArray>& arrays);

}  // namespace towerflow::interop
