#include "core/device/kernel.h"

#include <fmt/format.h>

#include "core/graph/error.h"

namespace towerflow {

Shape found_shape(const Shape& found, const Shape& said) {
  if (auto both = found.merged(said)) return *std::move(both);
  throw errors::InvalidArgumentError(
      fmt::format("the result has the shape {}, the graph says {}", found.text(), said.text()),
      {.hint = "a shape given with set_shape has to hold in every run"});
}

}  // namespace towerflow
