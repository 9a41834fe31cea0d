#pragma once

#include <span>
#include <string>
#include <vector>

namespace towerflow {

/// The names closest to `wanted` by edit distance over path parts, best first, at most `count`;
/// none that shares nothing with it.
std::vector<std::string> nearest_names(const std::string& wanted,
                                       std::span<const std::string> names, std::size_t count = 3);

/// "nearest existing: 'a/b', 'a/c'", or "" when nothing is near.
std::string nearest_hint(const std::string& wanted, std::span<const std::string> names);

}  // namespace towerflow
