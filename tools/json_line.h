#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace towerflow::tools {

/// `json` on one line. A name that is no UTF-8, as that of a file may be, JSON cannot hold: its
/// bytes are replaced.
inline std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace towerflow::tools
