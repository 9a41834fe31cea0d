// A chain of elementwise ops in one pass over memory (_Elementwise). The steps are interpreted: a
// thread keeps the values of the steps for four neighbours, and all threads take the same branches.
#include "cuda/device/chain.cuh"

#include "cuda/device/elementwise_ops.h"

namespace towerflow::cuda::device {
namespace {

TOWERFLOW_DEVICE Values step(int op, const Values& a, const Values& b, const Values& c) {
  switch (static_cast<ChainOp>(op)) {
    case ChainOp::Select:
      return select(a, b, c);
#define TOWERFLOW_CASE(name) \
  case ChainOp::name:        \
    return map<name>(a);
      TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_CASE)
      TOWERFLOW_PREDICATE_OPS(TOWERFLOW_CASE)
      TOWERFLOW_CASE(LogicalNot)
#undef TOWERFLOW_CASE
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

template <class T>
TOWERFLOW_DEVICE Values load(const Chain& chain, const Chain::Input& input, int64 at, int count) {
  if (input.mode == 0) return load_whole<T>(input, at, count);
  if (input.mode == 1) return load_number<T>(input);
  return load_strided<T>(chain, input, chain.rank, at, count);
}

}  // namespace

TOWERFLOW_KERNEL(Chain_float32, 256, Chain chain, int64 n) {
  for (int64 at = grid_thread() * kChainPack; at < n; at += grid_threads() * kChainPack) {
    const int count = neighbours(at, n);
    Values values[kMaxInputs + kMaxSteps];
    for (int k = 0; k < chain.inputs; ++k) {
      const Chain::Input& input = chain.input[k];
      values[k] = input.is_bool != 0 ? load<bool>(chain, input, at, count)
                                     : load<float>(chain, input, at, count);
    }
    for (int k = 0; k < chain.steps; ++k) {
      const Chain::Step& now = chain.step[k];
      values[kMaxInputs + k] =
          step(now.op, values[now.operands[0]], values[now.operands[1]], values[now.operands[2]]);
    }
    const Values& last = values[kMaxInputs + chain.steps - 1];
    if (chain.result_is_bool != 0) {  // one by one, since ptxas spills registers for packs of them
      for (int k = 0; k < count; ++k) store<bool>(chain.result, at + k, 1, {{last.v[k]}});
    } else {
      store<float>(chain.result, at, count, last);
    }
  }
}

}  // namespace towerflow::cuda::device
