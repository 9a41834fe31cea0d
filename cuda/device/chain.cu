// A chain of elementwise ops in one pass over memory (_Elementwise). The steps are interpreted: a
// thread keeps the values of the steps for four neighbours, and all threads take the same branches.
#include "cuda/device/arguments.h"
#include "cuda/device/elementwise_ops.h"
#include "cuda/device/functors.cuh"

namespace towerflow::cuda::device {
namespace {

constexpr int kPack = 4;
using Values = Pack<float, kPack>;

template <class F>
TOWERFLOW_DEVICE Values map(const Values& x) {
  Values y;
  for (int k = 0; k < kPack; ++k) y.v[k] = static_cast<float>(F()(x.v[k]));
  return y;
}
template <class F>
TOWERFLOW_DEVICE Values map(const Values& a, const Values& b) {
  Values y;
  for (int k = 0; k < kPack; ++k) y.v[k] = static_cast<float>(F()(a.v[k], b.v[k]));
  return y;
}
TOWERFLOW_DEVICE Values negated(const Values& x) {
  Values y;
  for (int k = 0; k < kPack; ++k) y.v[k] = x.v[k] == 0 ? 1.0F : 0.0F;
  return y;
}

TOWERFLOW_DEVICE Values step(int op, const Values& a, const Values& b, const Values& c) {
  switch (static_cast<ChainOp>(op)) {
    case ChainOp::Select: {
      Values y;
      for (int k = 0; k < kPack; ++k) y.v[k] = a.v[k] != 0 ? b.v[k] : c.v[k];
      return y;
    }
#define TOWERFLOW_CASE(name) \
  case ChainOp::name:        \
    return map<name>(a);
      TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_CASE)
      TOWERFLOW_PREDICATE_OPS(TOWERFLOW_CASE)
#undef TOWERFLOW_CASE
    case ChainOp::LogicalNot:
      return negated(a);
#define TOWERFLOW_CASE(name) \
  case ChainOp::name:        \
    return map<name>(a, b);
      TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_CASE)
      TOWERFLOW_COMPARISON_OPS(TOWERFLOW_CASE)
      TOWERFLOW_LOGICAL_OPS(TOWERFLOW_CASE)
#undef TOWERFLOW_CASE
  }
  return a;
}

TOWERFLOW_DEVICE float load_one(const Chain::Input& input, int64 at) {
  if (input.is_bool != 0) return static_cast<const bool*>(input.data)[at] ? 1.0F : 0.0F;
  return static_cast<const float*>(input.data)[at];
}

/// Where an input is read for the element `at` of the result.
TOWERFLOW_DEVICE int64 position(const Chain& chain, const Chain::Input& input, int64 at) {
  if (input.mode == 0) return at;
  int64 found = 0;
  if (input.mode == 1) return found;
  auto element = static_cast<std::uint32_t>(at);
  for (int d = chain.rank - 1; d >= 0; --d) {
    const std::uint32_t outer = chain.sizes[d].quotient(element);
    found += int64{element - outer * chain.sizes[d].divisor} * input.strides[d];
    element = outer;
  }
  return found;
}

/// Reads an input for the elements at .. at + count of the result.
TOWERFLOW_DEVICE Values load(const Chain& chain, const Chain::Input& input, int64 at, int count) {
  const auto* floats = static_cast<const float*>(input.data);
  if (input.mode == 0 && input.is_bool == 0 && count == kPack && is_aligned<kPack>(floats + at)) {
    return load_pack<kPack>(floats + at);
  }
  Values y;
  for (int k = 0; k < kPack; ++k) {
    y.v[k] = k < count ? load_one(input, position(chain, input, at + k)) : 0.0F;
  }
  return y;
}

TOWERFLOW_DEVICE void store(const Chain& chain, int64 at, int count, const Values& y) {
  auto* floats = static_cast<float*>(chain.result);
  if (chain.result_is_bool == 0 && count == kPack && is_aligned<kPack>(floats + at)) {
    return store_pack<kPack>(floats + at, y);
  }
  for (int k = 0; k < count; ++k) {
    if (chain.result_is_bool != 0) {
      static_cast<bool*>(chain.result)[at + k] = y.v[k] != 0;
    } else {
      floats[at + k] = y.v[k];
    }
  }
}

}  // namespace

TOWERFLOW_KERNEL(Chain_float32, 256, Chain chain, int64 n) {
  for (int64 at = grid_thread() * kPack; at < n; at += grid_threads() * kPack) {
    const int count = n - at < kPack ? static_cast<int>(n - at) : kPack;
    Values values[kMaxInputs + kMaxSteps];
    for (int k = 0; k < chain.inputs; ++k) values[k] = load(chain, chain.input[k], at, count);
    for (int k = 0; k < chain.steps; ++k) {
      const Chain::Step& now = chain.step[k];
      values[kMaxInputs + k] =
          step(now.op, values[now.operands[0]], values[now.operands[1]], values[now.operands[2]]);
    }
    store(chain, at, count, values[kMaxInputs + chain.steps - 1]);
  }
}

}  // namespace towerflow::cuda::device
