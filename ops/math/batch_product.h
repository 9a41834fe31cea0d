#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/cpu/cpu_kernel.h"
#include "core/graph/shape.h"
#include "ops/onednn/matmul.h"

namespace towerflow {

/// Products of matrices in row-major batches: z[i] = x[x_of[i]] y[y_of[i]], each transposed first
/// if `matrix` says so.
struct BatchProduct {
  onednn::MatMulShape matrix;
  std::vector<std::int64_t> x_of, y_of;  ///< the matrix of each operand, by matrix of the result

  /// Returns the batches of operands whose leading sizes broadcast. Both shapes must be known, of
  /// at least two dimensions, and fit.
  static BatchProduct of(const Shape& x, const Shape& y, bool adjoint_x, bool adjoint_y);
  std::int64_t count() const { return static_cast<std::int64_t>(x_of.size()); }
};

/// Inputs {x, y}, output {z}, float32. Slices divide the batch if it has several products.
std::unique_ptr<CpuKernel> make_batch_product(const BatchProduct& batch);

}  // namespace towerflow
