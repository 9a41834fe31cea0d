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
            const std::int64_t h = p * g.rows.stride + r * g.rows.dilation - g.rows.pad_before;
            const std::int64_t w =
                q * g.columns.stride + s * g.columns.dilation - g.columns.pad_before;
            if (h < 0 || h >= g.rows.input || w < 0 || w >= g.columns.input) continue;
            visit(n, p, q, r, s, h, w);
          }
}

/// Return the offset of channel 0, in NHWC or NCHW for the input and the result, HWIO for the
/// filter.
inline std::int64_t input_at(const ConvGeometry& g, std::int64_t n, std::int64_t h,
                             std::int64_t w) {
  if (g.channels_first) return n * g.image_elements() + h * g.columns.input + w;
  return ((n * g.rows.input + h) * g.columns.input + w) * g.in_channels;
}
inline std::int64_t result_at(const ConvGeometry& g, std::int64_t n, std::int64_t p,
                              std::int64_t q) {
  if (g.channels_first) return n * g.result_elements() + p * g.columns.output + q;
  return ((n * g.rows.output + p) * g.columns.output + q) * g.out_channels;
}
inline std::int64_t filter_at(const ConvGeometry& g, std::int64_t r, std::int64_t s) {
  return (r * g.columns.window + s) * (g.in_channels / g.groups) * g.out_channels;
}

/// Calls `visit(x, filter, y)` with the offsets of all elements of the three that a product
/// combines.
template <class Visit>
void for_each_product(const ConvGeometry& g, Visit visit) {
  const std::int64_t x_step = g.channels_first ? g.rows.input * g.columns.input : 1;
  const std::int64_t y_step = g.channels_first ? g.rows.output * g.columns.output : 1;
  const std::int64_t in_group = g.in_channels / g.groups, out_group = g.out_channels / g.groups;
  for_each_window(g, [&](auto n, auto p, auto q, auto r, auto s, auto h, auto w) {
    const std::int64_t x = input_at(g, n, h, w), y = result_at(g, n, p, q);
    const std::int64_t filter = filter_at(g, r, s);
    for (std::int64_t group = 0; group < g.groups; ++group)
      for (std::int64_t c = 0; c < in_group; ++c)
        for (std::int64_t k = group * out_group; k < (group + 1) * out_group; ++k)
          visit(x + (group * in_group + c) * x_step, filter + c * g.out_channels + k,
                y + k * y_step);
  });
}

/// y = conv2d(x, filter) + bias; `bias` may be null.
template <class T, class Sum>
void conv2d(const ConvGeometry& g, const T* x, const T* filter, const T* bias, Sum* y) {
  for (std::int64_t i = 0; i < g.batch * g.result_elements(); ++i)
    y[i] = bias ? static_cast<Sum>(bias[i % g.out_channels]) : Sum(0);
  for_each_product(g, [&](std::int64_t from, std::int64_t weight, std::int64_t to) {
    y[to] += static_cast<Sum>(x[from]) * static_cast<Sum>(filter[weight]);
  });
}

/// Computes dx of conv2d.
template <class T, class Sum>
void conv2d_backprop_input(const ConvGeometry& g, const T* filter, const T* dy, Sum* dx) {
  std::fill_n(dx, g.batch * g.image_elements(), Sum(0));
  for_each_product(g, [&](std::int64_t to, std::int64_t weight, std::int64_t from) {
    dx[to] += static_cast<Sum>(dy[from]) * static_cast<Sum>(filter[weight]);
  });
}

/// Computes dfilter of conv2d and, if `dbias` is not null, the sum of dy over images and positions.
template <class T, class Sum>
void conv2d_backprop_filter(const ConvGeometry& g, const T* x, const T* dy, Sum* dfilter,
                            Sum* dbias) {
  std::fill_n(dfilter, g.filter_elements(), Sum(0));
  for_each_product(g, [&](std::int64_t from, std::int64_t to, std::int64_t slope) {
    dfilter[to] += static_cast<Sum>(x[from]) * static_cast<Sum>(dy[slope]);
  });
  if (dbias == nullptr) return;
  std::fill_n(dbias, g.out_channels, Sum(0));
  for (std::int64_t i = 0; i < g.batch * g.result_elements(); ++i)
    dbias[i % g.out_channels] += static_cast<Sum>(dy[i]);
}

}  // namespace towerflow::reference
