#pragma once

#include "core/graph/operand.h"

namespace towerflow {

/// Adds an op BatchMatMulV2, which multiplies the matrices in the last two dimensions and
/// broadcasts the dimensions before them. `name` is that of an open scope, or empty.
Tensor batch_matmul(const Tensor& x, const Tensor& y, bool adjoint_x, bool adjoint_y,
                    const std::string& name, Site site);

}  // namespace towerflow
