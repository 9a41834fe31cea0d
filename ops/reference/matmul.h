#pragma once

#include <cstdint>

namespace towerflow::reference {

/// c [rows, columns] = op(a) op(b), where op transposes if requested. `Sum` is the type of the
/// sums.
template <class T, class Sum>
void matmul(std::int64_t rows, std::int64_t inner, std::int64_t columns, bool transpose_a,
            bool transpose_b, const T* a, const T* b, Sum* c) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      Sum sum(0);
      for (std::int64_t k = 0; k < inner; ++k)
        sum += static_cast<Sum>(transpose_a ? a[k * rows + i] : a[i * inner + k]) *
               static_cast<Sum>(transpose_b ? b[j * inner + k] : b[k * columns + j]);
      c[i * columns + j] = sum;
    }
}

}  // namespace towerflow::reference
