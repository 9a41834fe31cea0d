#pragma once

#include <fmt/format.h>

#include "core/device/backend.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// What the optimizers' update ops share.

/// Fails the op if the shape of its input, `what`, is not compatible with `wanted`.
inline void need_shape(const InferenceContext& context, std::size_t input, const Shape& wanted,
                       const char* what) {
  if (!context.shape(input).compatible(wanted)) {
    context.fail(fmt::format("Shapes must be equal, but {} has {} where {} is needed", what,
                             context.shape(input).text(), wanted.text()));
  }
}

/// Whether the variable, the first input, is one that the kernels know.
inline bool is_float_variable(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::float32 || request.inputs[0].dtype == DType::float64;
}

}  // namespace towerflow
