#pragma once

#include <filesystem>
#include <string>

namespace towerflow::data {

/// Returns `folder/name`, or `folder/name.gz` if that does not exist. Throws NotFoundError, with
/// both names and the hint, if neither exists; FailedPreconditionError for a pipe or a folder.
std::filesystem::path existing_file(const std::filesystem::path& folder, const std::string& name,
                                    const std::string& hint);

}  // namespace towerflow::data
