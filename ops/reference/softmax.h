#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace towerflow::reference {

/// loss[i] = -log softmax(logits)[i, label], dlogits = softmax(logits) - one_hot(label). All
/// computations are done in type `Sum`.
template <class T, class Sum>
void sparse_softmax_xent(std::int64_t rows, std::int64_t classes, const T* logits,
                         const std::int64_t* labels, Sum* loss, Sum* dlogits) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* row = logits + i * classes;
    Sum largest = static_cast<Sum>(row[0]);
    for (std::int64_t j = 1; j < classes; ++j)
      largest = std::max(largest, static_cast<Sum>(row[j]));
    Sum sum(0);
    for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(static_cast<Sum>(row[j]) - largest);
    loss[i] = std::log(sum) - (static_cast<Sum>(row[labels[i]]) - largest);
    for (std::int64_t j = 0; j < classes; ++j)
      dlogits[i * classes + j] =
          std::exp(static_cast<Sum>(row[j]) - largest) / sum - (j == labels[i] ? Sum(1) : Sum(0));
  }
}

}  // namespace towerflow::reference
