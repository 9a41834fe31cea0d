#pragma once

#include <cstdint>

namespace towerflow::simd {

/// Loops over [rows, columns] in which each column is a channel of its own. Rows are processed in
/// blocks of 64; the sums of a block are float32 and those over blocks float64.
struct NormalizationLoops {
  /// Continues the mean of each column and the sum of squared deviations from it, both those of
  /// `before` rows, with the rows of x.
  void (*moments)(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t before,
                  double* mean, double* squares);

  /// y = (x - mean) * factor + offset
  void (*normalize)(const float* x, const float* mean, const float* factor, const float* offset,
                    float* y, std::int64_t rows, std::int64_t columns);

  /// sums += the sums of dy; products += those of dy * (x - mean).
  void (*gradient_sums)(const float* dy, const float* x, const float* mean, std::int64_t rows,
                        std::int64_t columns, double* sums, double* products);

  /// dx = (dy - shift - (x - mean) * slope) * factor
  void (*gradient)(const float* dy, const float* x, const float* mean, const float* shift,
                   const float* slope, const float* factor, float* dx, std::int64_t rows,
                   std::int64_t columns);
};

}  // namespace towerflow::simd
