#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/window.h"

namespace towerflow::reference {

/// Calls `visit(at)` with the offset of every element inside the image of the window of (n, p, q),
/// channel c, in row-major order.
template <class Visit>
void for_each_in_window(const PoolGeometry& g, std::int64_t n, std::int64_t p, std::int64_t q,
                        std::int64_t c, Visit visit) {
  for (std::int64_t r = 0; r < g.rows.window; ++r)
    for (std::int64_t s = 0; s < g.columns.window; ++s) {
      const std::int64_t h = p * g.rows.stride + r - g.rows.pad_before;
      const std::int64_t w = q * g.columns.stride + s - g.columns.pad_before;
      if (h < 0 || h >= g.rows.input || w < 0 || w >= g.columns.input) continue;
      visit(((n * g.rows.input + h) * g.columns.input + w) * g.channels + c);
    }
}

/// Calls `visit(out, n, p, q, c)` for every element of the result.
template <class Visit>
void for_each_result(const PoolGeometry& g, Visit visit) {
  std::int64_t out = 0;
  for (std::int64_t n = 0; n < g.batch; ++n)
    for (std::int64_t p = 0; p < g.rows.output; ++p)
      for (std::int64_t q = 0; q < g.columns.output; ++q)
        for (std::int64_t c = 0; c < g.channels; ++c) visit(out++, n, p, q, c);
}

/// y = max_pool(x): the maximum of each window, at least the lowest finite number; NaN never wins.
template <class T>
void max_pool(const PoolGeometry& g, const T* x, T* y) {
  for_each_result(g, [&](auto out, auto n, auto p, auto q, auto c) {
    T best = std::numeric_limits<T>::lowest();
    for_each_in_window(g, n, p, q, c, [&](auto at) {
      if (x[at] > best) best = x[at];
    });
    y[out] = best;
  });
}

/// dx of max_pool: dy goes to the first largest element. A NaN that comes first keeps its place.
template <class T>
void max_pool_grad(const PoolGeometry& g, const T* x, const T* dy, T* dx) {
  std::fill_n(dx, g.batch * g.image_elements(), T(0));
  for_each_result(g, [&](auto out, auto n, auto p, auto q, auto c) {
    std::int64_t best = -1;
    for_each_in_window(g, n, p, q, c, [&](auto at) {
      if (best < 0 || x[best] < x[at]) best = at;
    });
    if (best >= 0) dx[best] += dy[out];
  });
}

/// ddy of max_pool: for each window, the element of ddx at the position of the first largest
/// element of x.
template <class T>
void max_pool_grad_grad(const PoolGeometry& g, const T* x, const T* ddx, T* ddy) {
  for_each_result(g, [&](auto out, auto n, auto p, auto q, auto c) {
    std::int64_t best = -1;
    for_each_in_window(g, n, p, q, c, [&](auto at) {
      if (best < 0 || x[best] < x[at]) best = at;
    });
    ddy[out] = best >= 0 ? ddx[best] : T(0);
  });
}

/// y = the mean of each window over its elements inside the image.
template <class T>
void avg_pool(const PoolGeometry& g, const T* x, T* y) {
  for_each_result(g, [&](auto out, auto n, auto p, auto q, auto c) {
    T sum(0);
    std::int64_t count = 0;
    for_each_in_window(g, n, p, q, c, [&](auto at) {
      sum = static_cast<T>(sum + x[at]);
      ++count;
    });
    y[out] = count > 0 ? static_cast<T>(sum / static_cast<T>(count)) : T(0);
  });
}

/// dx of avg_pool: dy is shared equally among the elements of its window inside the image.
template <class T>
void avg_pool_grad(const PoolGeometry& g, const T* dy, T* dx) {
  std::fill_n(dx, g.batch * g.image_elements(), T(0));
  for_each_result(g, [&](auto out, auto n, auto p, auto q, auto c) {
    std::int64_t count = 0;
    for_each_in_window(g, n, p, q, c, [&](auto) { ++count; });
    for_each_in_window(g, n, p, q, c, [&](auto at) {
      dx[at] = static_cast<T>(dx[at] + static_cast<T>(dy[out] / static_cast<T>(count)));
    });
  });
}

}  // namespace towerflow::reference
