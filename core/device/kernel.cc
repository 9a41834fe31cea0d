#include "core/device/kernel.h"

#include <fmt/format.h>

#include "core/graph/error.h"

namespace towerflow {

Shape merge_declared_shape(const Shape& found, const Shape& said) {
  if (auto both = found.merged(said)) return *std::move(both);
  throw errors::InvalidArgumentError(
      fmt::format("the result has the shape {}, but the graph expects {}", found.text(),
                  said.text()),
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

std::string inputs_text(const KernelRequest& request) {
  std::string text;
  for (const TensorDesc& input : request.inputs) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", dtype_name(input.dtype),
                        input.shape.text());
  }
  return text;
}

std::unique_ptr<PreparedKernel> prepare_kernel(const KernelEntry& entry,
                                               const KernelRequest& request) {
  if (auto kernel = entry.prepare(request)) return kernel;
  throw errors::InvalidArgumentError(fmt::format("The kernel '{}' of {} does not take inputs ({})",
                                                 entry.label, entry.op, inputs_text(request)),
                                     {.op = entry.op});
}

}  // namespace towerflow
