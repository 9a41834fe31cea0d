#pragma once

// The parts of a chain of elementwise ops in one pass over memory (_Elementwise). Two kinds of
// kernels are made of them, and give the same bits: one that interprets the steps of any chain
// (chain.cu), and one for each chain, in which the steps stand one after the other. Those are
// written by cuda/ops/chain_source.h and compiled when the chain is prepared.

#include "cuda/device/arguments.h"
#include "cuda/device/functors.cuh"

namespace towerflow::cuda::device {

/// The values of an input or of a step for the neighbours that a thread takes at once.
using Values = Pack<float, kChainPack>;

template <class F>
TOWERFLOW_DEVICE Values map(const Values& x) {
  Values y;
  for (int k = 0; k < kChainPack; ++k) y.v[k] = static_cast<float>(F()(x.v[k]));
  return y;
}
template <class F>
TOWERFLOW_DEVICE Values map(const Values& a, const Values& b) {
  Values y;
  for (int k = 0; k < kChainPack; ++k) y.v[k] = static_cast<float>(F()(a.v[k], b.v[k]));
  return y;
}
TOWERFLOW_DEVICE Values select(const Values& condition, const Values& a, const Values& b) {
  Values y;
  for (int k = 0; k < kChainPack; ++k) y.v[k] = condition.v[k] != 0 ? a.v[k] : b.v[k];
  return y;
}

/// Returns how many neighbours there are from the element `at` of n on.
TOWERFLOW_DEVICE int neighbours(int64 at, int64 n) {
  return n - at < kChainPack ? static_cast<int>(n - at) : kChainPack;
}

// Inputs and results are stored as T: float, or bool, whose values are 1 and 0.

/// Reads `count` neighbours.
template <class T>
TOWERFLOW_DEVICE Values load_neighbours(const T* from, int count) {
  Pack<T, kChainPack> stored{};
  if (count == kChainPack && is_aligned<kChainPack>(from)) {
    stored = load_pack<kChainPack>(from);
  } else {
    for (int k = 0; k < kChainPack; ++k) {
      if (k < count) stored.v[k] = from[k];
    }
  }
  Values y;
  for (int k = 0; k < kChainPack; ++k) y.v[k] = static_cast<float>(stored.v[k]);
  return y;
}

/// Reads an input that is as large as the result, for the elements at .. at + count.
template <class T>
TOWERFLOW_DEVICE Values load_whole(const Chain::Input& input, int64 at, int count) {
  return load_neighbours(static_cast<const T*>(input.data) + at, count);
}

/// Reads an input that is one number, for all elements.
template <class T>
TOWERFLOW_DEVICE Values load_number(const Chain::Input& input) {
  Values y;
  const auto number = static_cast<float>(*static_cast<const T*>(input.data));
  for (int k = 0; k < kChainPack; ++k) y.v[k] = number;
  return y;
}

/// Where an input that is read by strides has the element `at` of the result.
TOWERFLOW_DEVICE int64 position(const Chain& chain, const Chain::Input& input, int rank, int64 at) {
  int64 found = 0;
  auto element = static_cast<std::uint32_t>(at);
  for (int d = rank - 1; d >= 0; --d) {
    const std::uint32_t outer = chain.sizes[d].quotient(element);
    found += int64{element - outer * chain.sizes[d].divisor} * input.strides[d];
    element = outer;
  }
  return found;
}

/// Reads it for the elements at .. at + count.
template <class T>
TOWERFLOW_DEVICE Values load_strided(const Chain& chain, const Chain::Input& input, int rank,
                                     int64 at, int count) {
  Values y;
  for (int k = 0; k < kChainPack; ++k) {
    y.v[k] = 0;
    if (k >= count) continue;
    const int64 place = position(chain, input, rank, at + k);
    y.v[k] = static_cast<float>(static_cast<const T*>(input.data)[place]);
  }
  return y;
}

/// Reads it where all neighbours are in one row, and are neighbours in the input too (a stride of
/// 1), or one number (0).
template <class T, int kStride>
TOWERFLOW_DEVICE Values load_row(const Chain& chain, const Chain::Input& input, int rank,
                                 int64 at) {
  const auto* from = static_cast<const T*>(input.data) + position(chain, input, rank, at);
  if constexpr (kStride == 1) return load_neighbours(from, kChainPack);
  Values y;
  const auto number = static_cast<float>(*from);
  for (int k = 0; k < kChainPack; ++k) y.v[k] = number;
  return y;
}

template <class T>
TOWERFLOW_DEVICE void store(void* result, int64 at, int count, const Values& y) {
  T* to = static_cast<T*>(result) + at;
  Pack<T, kChainPack> stored;
  for (int k = 0; k < kChainPack; ++k) stored.v[k] = static_cast<T>(y.v[k]);
  if (count == kChainPack && is_aligned<kChainPack>(to)) return store_pack<kChainPack>(to, stored);
  for (int k = 0; k < kChainPack; ++k) {
    if (k < count) to[k] = stored.v[k];
  }
}

}  // namespace towerflow::cuda::device
