#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace towerflow::tools {

/// Formats `json` on one line. Bytes that are not UTF-8, which file names may contain, are
/// replaced, since JSON cannot represent them.
inline std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace towerflow::tools
