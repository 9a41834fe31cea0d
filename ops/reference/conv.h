#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/window.h"

/// Plain loops: the reference kernels, and the oracle of the tests. `Sum` is the type in which
/// products are summed.
namespace towerflow::reference {

/// Calls `visit(n, p, q, r, s, h, w)` for every output position, filter position and the input
/// position that they combine, if it is inside the image.
template <class Visit>
void for_each_window(const ConvGeometry& g, Visit visit) {
  for (std::int64_t n = 0; n < g.batch; ++n)
    for (std::int64_t p = 0; p < g.rows.output; ++p)
      for (std::int64_t q = 0; q < g.columns.output; ++q)
        for (std::int64_t r = 0; r < g.rows.window; ++r)
          for (std::int64_t s = 0; s < g.columns.window; ++s) {
            const std::int64_t h = p * g.rows.stride + r - g.rows.pad_before;
            const std::int64_t w = q * g.columns.stride + s - g.columns.pad_before;
            if (h < 0 || h >= g.rows.input || w < 0 || w >= g.columns.input) continue;
            visit(n, p, q, r, s, h, w);
          }
}

/// Return the offset of channel 0, in NHWC for the input and the result, HWIO for the filter.
inline std::int64_t input_at(const ConvGeometry& g, std::int64_t n, std::int64_t h,
                             std::int64_t w) {
  return ((n * g.rows.input + h) * g.columns.input + w) * g.in_channels;
}
inline std::int64_t result_at(const ConvGeometry& g, std::int64_t n, std::int64_t p,
                              std::int64_t q) {
  return ((n * g.rows.output + p) * g.columns.output + q) * g.out_channels;
}
inline std::int64_t filter_at(const ConvGeometry& g, std::int64_t r, std::int64_t s,
                              std::int64_t c) {
  return ((r * g.columns.window + s) * g.in_channels + c) * g.out_channels;
}

/// y = conv2d(x, filter) + bias; `bias` may be null.
template <class T, class Sum>
void conv2d(const ConvGeometry& g, const T* x, const T* filter, const T* bias, Sum* y) {
  for (std::int64_t i = 0; i < g.batch * g.result_elements(); ++i)
    y[i] = bias ? static_cast<Sum>(bias[i % g.out_channels]) : Sum(0);
  for_each_window(g, [&](auto n, auto p, auto q, auto r, auto s, auto h, auto w) {
    Sum* const to = y + result_at(g, n, p, q);
    const T* const from = x + input_at(g, n, h, w);
    for (std::int64_t c = 0; c < g.in_channels; ++c) {
      const T* const weights = filter + filter_at(g, r, s, c);
      for (std::int64_t k = 0; k < g.out_channels; ++k)
        to[k] += static_cast<Sum>(from[c]) * static_cast<Sum>(weights[k]);
    }
  });
}

/// Computes dx of conv2d.
template <class T, class Sum>
void conv2d_backprop_input(const ConvGeometry& g, const T* filter, const T* dy, Sum* dx) {
  std::fill_n(dx, g.batch * g.image_elements(), Sum(0));
  for_each_window(g, [&](auto n, auto p, auto q, auto r, auto s, auto h, auto w) {
    Sum* const to = dx + input_at(g, n, h, w);
    const T* const from = dy + result_at(g, n, p, q);
    for (std::int64_t c = 0; c < g.in_channels; ++c) {
      const T* const weights = filter + filter_at(g, r, s, c);
      for (std::int64_t k = 0; k < g.out_channels; ++k)
        to[c] += static_cast<Sum>(from[k]) * static_cast<Sum>(weights[k]);
    }
  });
}

/// Computes dfilter of conv2d and, if `dbias` is not null, the sum of dy over images and positions.
template <class T, class Sum>
void conv2d_backprop_filter(const ConvGeometry& g, const T* x, const T* dy, Sum* dfilter,
                            Sum* dbias) {
  std::fill_n(dfilter, g.filter_elements(), Sum(0));
  for_each_window(g, [&](auto n, auto p, auto q, auto r, auto s, auto h, auto w) {
    const T* const from = x + input_at(g, n, h, w);
    const T* const slopes = dy + result_at(g, n, p, q);
    for (std::int64_t c = 0; c < g.in_channels; ++c) {
      Sum* const to = dfilter + filter_at(g, r, s, c);
      for (std::int64_t k = 0; k < g.out_channels; ++k)
        to[k] += static_cast<Sum>(from[c]) * static_cast<Sum>(slopes[k]);
    }
  });
  if (dbias == nullptr) return;
  std::fill_n(dbias, g.out_channels, Sum(0));
  for (std::int64_t i = 0; i < g.batch * g.result_elements(); ++i)
    dbias[i % g.out_channels] += static_cast<Sum>(dy[i]);
}

}  // namespace towerflow::reference
