#include "tests/docs/said.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace towerflow {

std::string output_or_error(int line, const std::function<std::string()>& program) {
  std::string text;
  {
    Graph graph;
    const auto as_default = graph.as_default();
    try {
      text = program();
      while (text.ends_with('\n')) text.pop_back();
    } catch (const Error& error) {
      text = error.what();
    }
  }
  if (const char* file = std::getenv("TOWERFLOW_DOCS_OUTPUT")) {
    std::ofstream(file, std::ios::app)
        << nlohmann::json::array({std::to_string(line), text}).dump() << "\n";
  }
  return text;
}

}  // namespace towerflow
