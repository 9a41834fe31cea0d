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

void enqueue_checked(const PreparedKernel& kernel, Queue& queue, const LaunchArgs& args) {
#ifdef TOWERFLOW_VERIFY
  try {
    kernel.enqueue(queue, args);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    if (kernel.may_fail()) throw;
    throw errors::InternalError(
        fmt::format("a kernel that says it cannot fail has failed: {}", error.what()));
  }
#else
  kernel.enqueue(queue, args);
#endif
}

}  // namespace towerflow
