#include "core/graph/site.h"

#include <fmt/format.h>

namespace towerflow {

std::string Site::text() const {
  return known() ? fmt::format("{}:{}", file, line) : std::string("unknown place");
}

}  // namespace towerflow
