#pragma once

#include <cstdint>

namespace towerflow::cuda::host {

/// An operand of a product; the element of row i and column j is at i * row + j * column.
struct Factor {
  const double* data = nullptr;
  std::int64_t row = 0, column = 1;
};

/// Adds the product of a [m, k] and b [k, n] to c [m, n]. The columns of b and c lie together.
/// Terms are added in the order of k, whatever the sizes.
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const Factor& a, const double* b,
                  std::int64_t b_row, double* c, std::int64_t c_row);

}  // namespace towerflow::cuda::host
