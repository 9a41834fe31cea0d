#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace towerflow::test {

/// Returns the project's root folder, wherever the test was started. Fixtures and samples are found
/// relative to it: `source_root() / "samples/mnist"`.
std::filesystem::path source_root();

/// Returns the folder or file `name` ("mnist", "cifar10/data_batch_1.bin.xz") of the real data, or
/// nullopt if this machine does not have it. Searches $TOWERFLOW_DATA, then ../shared/data from the
/// project's root. Throws std::runtime_error if $TOWERFLOW_DATA is not a folder, so that a mistyped
/// path is not taken for a machine without data.
std::optional<std::filesystem::path> real_data(std::string_view name);

}  // namespace towerflow::test
