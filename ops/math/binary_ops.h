#pragma once

#include "core/graph/op_def.h"
#include "ops/math/broadcast_loop.h"

namespace towerflow {

/// One row of the table of binary ops.
struct BinaryRow {
  const char* op;
  bool (*accepts)(DType);  ///< dtypes of the operands
  bool returns_bool;       ///< else the result has the operands' dtype
  std::variant<NoGradient, GradientRule> gradient;
  BinaryLoops (*loops)(DType);  ///< reference loops for every accepted dtype
  BinaryLoops (*fast)();        ///< float32 loops, or null
  const char* x = "x";          ///< names of the arguments
  const char* y = "y";
  const char* z = "z";  ///< name of the result; `backprops` has the shape of both arguments
};

/// The table, in binary_table.cc.
const std::vector<BinaryRow>& binary_rows();

/// The gradient rules of the table, in binary_gradients.cc.
namespace binary_gradients {
using Gradients = std::vector<OptionalGradient>;
Gradients add(const Operation& op, const Gradients& dys);
Gradients sub(const Operation& op, const Gradients& dys);
Gradients mul(const Operation& op, const Gradients& dys);
Gradients real_div(const Operation& op, const Gradients& dys);
Gradients div_no_nan(const Operation& op, const Gradients& dys);
Gradients floor_mod(const Operation& op, const Gradients& dys);
Gradients maximum(const Operation& op, const Gradients& dys);
Gradients minimum(const Operation& op, const Gradients& dys);
Gradients pow(const Operation& op, const Gradients& dys);
Gradients squared_difference(const Operation& op, const Gradients& dys);
Gradients atan2(const Operation& op, const Gradients& dys);
Gradients xdivy(const Operation& op, const Gradients& dys);
Gradients xlogy(const Operation& op, const Gradients& dys);
Gradients xlog1py(const Operation& op, const Gradients& dys);
Gradients polygamma(const Operation& op, const Gradients& dys);
Gradients sigmoid_grad(const Operation& op, const Gradients& dys);
Gradients tanh_grad(const Operation& op, const Gradients& dys);
Gradients sqrt_grad(const Operation& op, const Gradients& dys);
Gradients rsqrt_grad(const Operation& op, const Gradients& dys);
Gradients relu6_grad(const Operation& op, const Gradients& dys);
Gradients elu_grad(const Operation& op, const Gradients& dys);
Gradients selu_grad(const Operation& op, const Gradients& dys);
Gradients softsign_grad(const Operation& op, const Gradients& dys);
}  // namespace binary_gradients

}  // namespace towerflow
