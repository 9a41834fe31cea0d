#pragma once

#include <memory>

#include "core/device/cpu/cpu_kernel.h"

namespace towerflow::onednn {

/// c [rows, columns] = op(a) op(b), where op transposes if asked to: a is [rows, inner] or
/// [inner, rows], b is [inner, columns] or [columns, inner].
struct MatMulShape {
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  bool transpose_a = false;
  bool transpose_b = false;
};

/// What is done to the product before it is written.
struct MatMulOptions {
  bool bias = false;  ///< a third input, [columns], is added to every row
  bool relu = false;  ///< negative numbers become 0, NaN stays
};

/// c = [relu](op(a) op(b) [+ bias]). Inputs {a, b[, bias]}, output {c}, float32.
///
/// Slices are parts of the longer side of c, never of the sum: no partial sums. Products below
/// 8 million multiply-adds are one slice, others 2 to 8. An empty sum gives zeros.
/// Throws InvalidArgumentError for a size beyond 2^31 - 1, InternalError when oneDNN refuses.
std::unique_ptr<CpuKernel> make_matmul(const MatMulShape& shape, const MatMulOptions& options = {});

}  // namespace towerflow::onednn
