#pragma once

#include "core/device/backend.h"
#include "core/graph/attr_fields.h"
#include "ops/math/reduction.h"

namespace towerflow {

struct ReduceAttrs {
  bool keep_dims = false;
  static constexpr auto fields = std::tuple{attr::field("keep_dims", &ReduceAttrs::keep_dims)};
};

/// One row of the table of reductions.
struct ReduceRow {
  const char* op;
  Reduction reduction;
  std::variant<NoGradient, GradientRule> gradient;
};
const std::vector<ReduceRow>& reduce_rows();

/// Op ReducedShape: the shape that a reduction's result has with keepdims, computed from the
/// input's shape and the axes, like TensorFlow's function of that name.
void register_reduced_shape(OpRegistry& registry);
void register_reduced_shape_kernels(KernelTable& table);

/// Op ProductOfOthers of x and axes: for each element, the product of all other elements that a
/// product over the axes combines with it, exact even if elements are zero. Its gradients are the
/// same op with further inputs, see product_of_others.cc.
void register_product_of_others(OpRegistry& registry);
void register_product_of_others_kernels(KernelTable& table);

/// The gradient rules, in reduce_gradients.cc.
namespace reduce_gradients {
using Gradients = std::vector<OptionalGradient>;
Gradients sum(const Operation& op, const Gradients& dys);
Gradients mean(const Operation& op, const Gradients& dys);
Gradients prod(const Operation& op, const Gradients& dys);
Gradients extreme(const Operation& op, const Gradients& dys);
}  // namespace reduce_gradients

}  // namespace towerflow
