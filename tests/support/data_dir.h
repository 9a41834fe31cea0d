#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace towerflow::test {

/// The folder that holds the project, wherever the test was started; fixtures and samples are found
/// from here: `source_root() / "samples/mnist"`.
std::filesystem::path source_root();

/// The folder or file `name` ("mnist", "cifar10/data_batch_1.bin.xz") of the real data, or nothing
/// where it is not on this machine. Looked for in $TOWERFLOW_DATA, then in ../shared/data from the
/// project's root. Throws std::runtime_error where $TOWERFLOW_DATA is set and names no folder: a
/// mistyped path must not look like a machine without data.
std::optional<std::filesystem::path> real_data(std::string_view name);

}  // namespace towerflow::test
