#pragma once

#include <span>
#include <string>
#include <vector>

namespace towerflow {

/// Returns at most `count` of the names closest to `wanted` by edit distance, best first, leaving
/// out those at two thirds of the longer name's length or more.
std::vector<std::string> nearest_names(const std::string& wanted,
                                       std::span<const std::string> names, std::size_t count = 3);

/// Returns "nearest existing: 'a/b', 'a/c'", or "" if nothing is near.
std::string nearest_hint(const std::string& wanted, std::span<const std::string> names);

}  // namespace towerflow
