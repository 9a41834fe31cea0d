#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace towerflow::models {

/// A flag, an integer or a string.
using OptionValue = std::variant<bool, std::int64_t, std::string>;
/// The values of a model's specific options, by name.
using OptionValues = std::map<std::string, OptionValue>;

}  // namespace towerflow::models
