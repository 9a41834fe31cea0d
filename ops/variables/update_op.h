#pragma once

#include <fmt/format.h>

#include "core/device/backend.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Helpers shared by the optimizers' update ops.

/// Fails the op if the shape of input `input`, described as `what`, is incompatible with `wanted`.
inline void need_shape(const InferenceContext& context, std::size_t input, const Shape& wanted,
                       const char* what) {
  if (!context.shape(input).compatible(wanted)) {
    context.fail(fmt::format("Shapes must be equal, but {} has {} where {} is needed", what,
                             context.shape(input).text(), wanted.text()));
  }
}

/// Returns whether the variable, input 0, has a dtype that the kernels support.
inline bool is_float_variable(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::float32 || request.inputs[0].dtype == DType::float64;
}

}  // namespace towerflow
