#pragma once

namespace towerflow {

/// Attributes of op MatMul.
struct MatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
  bool operator==(const MatMulAttrs&) const = default;
};

}  // namespace towerflow
