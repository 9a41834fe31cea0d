// Local response normalisation over neighbouring channels (LRN and LRNGrad), with the formulas of
// ops/nn/lrn.cc: a thread for each number.
//
//   LRN_T         y = x s^-beta, where s = bias + alpha times the sum of squares of the neighbours
//   LRNTerms_T    x, y, dy -> terms [2, n]: s, and dy y / s
//   LRNGrad_T     dx = dy s^-beta - 2 alpha beta x times the sum of the neighbours' dy y / s
#include "cuda/device/arguments.h"
#include "cuda/device/functors.cuh"

namespace towerflow::cuda::device {
namespace {

/// Calls `f(number, its first neighbour, the one behind its last neighbour)` for all numbers.
template <class F>
TOWERFLOW_DEVICE void for_numbers(const LrnShape& s, F f) {
  for (int64 i = grid_thread(); i < s.rows * s.channels; i += grid_threads()) {
    const int64 row = i / s.channels, first = row * s.channels;
    f(i, larger(i - s.radius, first), smaller(i + s.radius + 1, first + s.channels));
  }
}

template <class T>
TOWERFLOW_DEVICE T norm_of(const T* x, int64 begin, int64 end, const LrnShape& s) {
  T sum = 0;
  for (int64 k = begin; k < end; ++k) sum += x[k] * x[k];
  return static_cast<T>(s.bias) + static_cast<T>(s.alpha) * sum;
}

template <class T>
TOWERFLOW_DEVICE T shrunk(T norm, const LrnShape& s) {
  return s.beta == 0.5 ? T(1) / std::sqrt(norm) : std::pow(norm, static_cast<T>(-s.beta));
}

template <class T>
TOWERFLOW_DEVICE void normalise(const T* x, T* y, const LrnShape& s) {
  for_numbers(s, [&](int64 i, int64 begin, int64 end) {
    y[i] = x[i] * shrunk(norm_of(x, begin, end, s), s);
  });
}

template <class T>
TOWERFLOW_DEVICE void make_terms(const T* dy, const T* x, const T* y, T* terms, const LrnShape& s) {
  const int64 n = s.rows * s.channels;
  for_numbers(s, [&](int64 i, int64 begin, int64 end) {
    const T norm = norm_of(x, begin, end, s);
    terms[i] = norm;
    terms[n + i] = dy[i] * y[i] / norm;
  });
}

template <class T>
TOWERFLOW_DEVICE void gradient(const T* dy, const T* x, const T* terms, T* dx, const LrnShape& s) {
  const T factor = T(-2) * static_cast<T>(s.alpha) * static_cast<T>(s.beta);
  const T* around = terms + s.rows * s.channels;
  for_numbers(s, [&](int64 i, int64 begin, int64 end) {
    T sum = 0;
    for (int64 k = begin; k < end; ++k) sum += around[k];
    dx[i] = dy[i] * shrunk(terms[i], s) + factor * x[i] * sum;
  });
}

}  // namespace

#define TOWERFLOW_LRN(name, T)                                                            \
  TOWERFLOW_KERNEL(LRN_##name, 256, const T* x, T* y, LrnShape s) { normalise(x, y, s); } \
  TOWERFLOW_KERNEL(LRNTerms_##name, 256, const T* dy, const T* x, const T* y, T* terms,   \
                   LrnShape s) {                                                          \
    make_terms(dy, x, y, terms, s);                                                       \
  }                                                                                       \
  TOWERFLOW_KERNEL(LRNGrad_##name, 256, const T* dy, const T* x, const T* terms, T* dx,   \
                   LrnShape s) {                                                          \
    gradient(dy, x, terms, dx, s);                                                        \
  }

TOWERFLOW_LRN(float32, float)
TOWERFLOW_LRN(float64, double)

}  // namespace towerflow::cuda::device
