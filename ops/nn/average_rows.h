#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ops/math/broadcast_loop.h"
#include "ops/window.h"

/// Mean pooling that loops over the channels of a pixel. Results are bitwise equal to those of
/// ops/reference/pool.h.
namespace towerflow::nn {

/// Returns the first pixel of window number `at` that is inside the image, and the one past the
/// last.
inline std::pair<std::int64_t, std::int64_t> inside(const WindowAxis& axis, std::int64_t at) {
  const std::int64_t begin = at * axis.stride - axis.pad_before;
  return {std::max<std::int64_t>(begin, 0), std::min(begin + axis.window, axis.input)};
}

/// Calls `visit(result, image, count)` for each pixel of each window, in row-major order: `result`
/// and `image` are the offsets of first channels, `count` is the number of pixels of the window
/// inside the image. `begin(result)` is called before each window, `end(result, count)` after it.
template <class Begin, class Visit, class End>
void for_each_window(const PoolGeometry& g, const Begin& begin, const Visit& visit,
                     const End& end) {
  std::int64_t result = 0;
  for (std::int64_t n = 0; n < g.batch; ++n) {
    for (std::int64_t p = 0; p < g.rows.output; ++p) {
      const auto [top, bottom] = inside(g.rows, p);
      for (std::int64_t q = 0; q < g.columns.output; ++q, result += g.channels) {
        const auto [left, right] = inside(g.columns, q);
        const std::int64_t count =
            std::max<std::int64_t>(bottom - top, 0) * std::max<std::int64_t>(right - left, 0);
        begin(result);
        for (std::int64_t h = top; h < bottom; ++h) {
          for (std::int64_t w = left; w < right; ++w) {
            visit(result, ((n * g.rows.input + h) * g.columns.input + w) * g.channels, count);
          }
        }
        end(result, count);
      }
    }
  }
}

template <class T>
struct AverageRows {
  void operator()(const PoolGeometry& g, const T* x, T* y) const {
    for_each_window(
        g, [&](std::int64_t result) { std::fill_n(y + result, g.channels, T(0)); },
        [&](std::int64_t result, std::int64_t image, std::int64_t) {
          TOWERFLOW_INDEPENDENT
          for (std::int64_t c = 0; c < g.channels; ++c) y[result + c] += x[image + c];
        },
        [&](std::int64_t result, std::int64_t count) {
          if (count == 0) return;
          TOWERFLOW_INDEPENDENT
          for (std::int64_t c = 0; c < g.channels; ++c) y[result + c] /= static_cast<T>(count);
        });
  }
};

template <class T>
struct AverageRowsGrad {
  void operator()(const PoolGeometry& g, const T* dy, T* dx) const {
    std::fill_n(dx, g.batch * g.image_elements(), T(0));
    for_each_window(
        g, [](std::int64_t) {},
        [&](std::int64_t result, std::int64_t image, std::int64_t count) {
          TOWERFLOW_INDEPENDENT
          for (std::int64_t c = 0; c < g.channels; ++c) {
            dx[image + c] += dy[result + c] / static_cast<T>(count);
          }
        },
        [](std::int64_t, std::int64_t) {});
  }
};

}  // namespace towerflow::nn
