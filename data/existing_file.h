#pragma once

#include <filesystem>
#include <string>

namespace towerflow::data {

/// `folder/name`, or `folder/name.gz` where that is not there. NotFoundError, which names both and
/// gives the hint, without either; FailedPreconditionError for a pipe or a folder.
std::filesystem::path existing_file(const std::filesystem::path& folder, const std::string& name,
                                    const std::string& hint);

}  // namespace towerflow::data
