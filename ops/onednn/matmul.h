#pragma once

#include <memory>

#include "core/device/cpu/cpu_kernel.h"

namespace towerflow::onednn {

/// c [rows, columns] = op(a) op(b), where op transposes if requested: a is [rows, inner] or [inner,
/// rows], b is [inner, columns] or [columns, inner].
struct MatMulShape {
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  bool transpose_a = false;
  bool transpose_b = false;
};

/// Operations applied to the product.
struct MatMulOptions {
  bool bias = false;    ///< a third input, [columns], is added to every row
  bool addend = false;  ///< instead of a bias, a third input, [rows, columns], is added
  bool relu = false;    ///< negative numbers become 0, NaN stays NaN
};

/// c = [relu](op(a) op(b) [+ bias or addend]). Inputs {a, b[, bias or addend]}, output {c},
/// float32. The addend may be in the memory of c.
///
/// Slices divide the longer side of c, never the sum, so there are no partial sums. Products below
/// 2 million multiply-adds are one slice, larger ones up to 8. An empty sum gives zeros. Throws
/// InvalidArgumentError for a size beyond 2^31 - 1, InternalError or ResourceExhaustedError if
/// oneDNN fails.
std::unique_ptr<CpuKernel> make_matmul(const MatMulShape& shape, const MatMulOptions& options = {});

}  // namespace towerflow::onednn
