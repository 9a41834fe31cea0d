#include "cuda/host/product.h"

#include <algorithm>

namespace towerflow::cuda::host {
namespace {

// As many columns as leave room in the first cache for five rows of doubles.
constexpr std::int64_t kColumns = 512;

/// Adds the products of `terms` factors with rows of b to a row of c; a loop that vectorizes.
template <int terms>
void add_rows(std::int64_t n, const double* factors, const double* b, std::int64_t b_row,
              double* __restrict c) {
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = c[j];
    for (int t = 0; t < terms; ++t) sum += factors[t] * b[t * b_row + j];
    c[j] = sum;
  }
}

}  // namespace

void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, const Factor& a, const double* b,
                  std::int64_t b_row, double* c, std::int64_t c_row) {
  constexpr int kTerms = 4;
  for (std::int64_t from = 0; from < n; from += kColumns) {
    const std::int64_t columns = std::min(kColumns, n - from);
    // Four rows of b stay in the cache while all rows of c use them.
    for (std::int64_t t = 0; t < k; t += kTerms) {
      const std::int64_t terms = std::min<std::int64_t>(kTerms, k - t);
      const double* const rows = b + t * b_row + from;
      for (std::int64_t i = 0; i < m; ++i) {
        double factors[kTerms];
        for (std::int64_t u = 0; u < terms; ++u) {
          factors[u] = a.data[i * a.row + (t + u) * a.column];
        }
        double* const to = c + i * c_row + from;
        if (terms == kTerms) {
          add_rows<kTerms>(columns, factors, rows, b_row, to);
        } else {
          for (std::int64_t u = 0; u < terms; ++u) {
            add_rows<1>(columns, factors + u, rows + u * b_row, b_row, to);
          }
        }
      }
    }
  }
}

}  // namespace towerflow::cuda::host
