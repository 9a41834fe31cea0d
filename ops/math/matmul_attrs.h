#pragma once

#include <span>

#include "core/graph/attr_fields.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Attributes of op MatMul.
struct MatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
  bool grad_a = false;  ///< set by TensorFlow if a is a gradient; has no effect here
  bool grad_b = false;
  static constexpr auto fields = std::tuple{attr::field("transpose_a", &MatMulAttrs::transpose_a),
                                            attr::field("transpose_b", &MatMulAttrs::transpose_b),
                                            attr::field("grad_a", &MatMulAttrs::grad_a),
                                            attr::field("grad_b", &MatMulAttrs::grad_b)};
};

/// Returns the cost of a product of inputs 0 and 1. Further inputs are ignored.
Cost matmul_cost(std::span<const OutputSpec> inputs, std::span<const OutputSpec> outputs);

}  // namespace towerflow
