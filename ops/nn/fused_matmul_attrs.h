#pragma once

#include "ops/math/matmul_attrs.h"

namespace towerflow::nn {

/// Attributes of _FusedMatMul, into which a rewrite fuses MatMul, the sum with a vector or a matrix
/// and Relu.
struct FusedMatMulAttrs {
  MatMulAttrs product;
  bool relu = false;
  static constexpr auto fields = std::tuple{attr::included(&FusedMatMulAttrs::product),
                                            attr::field("relu", &FusedMatMulAttrs::relu)};
};

}  // namespace towerflow::nn
