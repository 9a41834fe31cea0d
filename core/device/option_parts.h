#pragma once

#include <string_view>

namespace towerflow {

/// Calls `take(part, key, value)` for each part of ",key=value,key=value", in order. The value is
/// empty if a part has no '='.
template <class Take>
void for_each_option_part(std::string_view text, const Take& take) {
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(part.size());
    const std::size_t equals = part.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    take(part, part.substr(0, equals), value);
  }
}

}  // namespace towerflow
