#include "cuda/ops/chain_source.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "cuda/device/elementwise_ops.h"

namespace towerflow::cuda {
namespace {

using device::Chain;
using device::ChainOp;

const char* stored_type(bool is_bool) { return is_bool ? "bool" : "float"; }

/// The values of an input, or of a step.
std::string operand(int index) {
  return index < device::kMaxInputs ? fmt::format("x{}", index)
                                    : fmt::format("s{}", index - device::kMaxInputs);
}

/// The expression of a step.
std::string expression(const Chain::Step& step) {
  const std::string a = operand(step.operands[0]), b = operand(step.operands[1]);
  switch (static_cast<ChainOp>(step.op)) {
    case ChainOp::Select:
      return fmt::format("select({}, {}, {})", a, b, operand(step.operands[2]));
#define TOWERFLOW_CASE(name) \
  case ChainOp::name:        \
    return fmt::format("map<" #name ">({})", a);
      TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_CASE)
      TOWERFLOW_PREDICATE_OPS(TOWERFLOW_CASE)
      TOWERFLOW_CASE(LogicalNot)
#undef TOWERFLOW_CASE
#define TOWERFLOW_CASE(name) \
  case ChainOp::name:        \
    return fmt::format("map<" #name ">({}, {})", a, b);
      TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_CASE)
      TOWERFLOW_COMPARISON_OPS(TOWERFLOW_CASE)
      TOWERFLOW_LOGICAL_OPS(TOWERFLOW_CASE)
#undef TOWERFLOW_CASE
  }
  return a;
}

/// How an input that is no single number is read for the elements at .. at + count.
std::string load(const Chain& chain, int index) {
  const Chain::Input& input = chain.input[index];
  const char* type = stored_type(input.is_bool != 0);
  if (input.mode == 0) {
    return fmt::format("load_whole<{}>(chain.input[{}], at, count)", type, index);
  }
  // All neighbours are in one row if rows are whole packs.
  const int inner = chain.rank - 1;
  if (chain.sizes[inner].divisor % device::kChainPack == 0 && input.strides[inner] <= 1) {
    return fmt::format("load_row<{}, {}>(chain, chain.input[{}], {}, at)", type,
                       input.strides[inner], index, chain.rank);
  }
  return fmt::format("load_strided<{}>(chain, chain.input[{}], {}, at, count)", type, index,
                     chain.rank);
}

/// A number that depends on the text alone (FNV-1a).
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0xcbf29ce484222325;
  for (const char c : text) number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return number;
}

}  // namespace

KernelSource chain_source(const Chain& chain) {
  std::string once, each;
  for (int k = 0; k < chain.inputs; ++k) {
    if (chain.input[k].mode == 1) {
      once += fmt::format("  const Values x{0} = load_number<{1}>(chain.input[{0}]);\n", k,
                          stored_type(chain.input[k].is_bool != 0));
    } else {
      each += fmt::format("    const Values x{} = {};\n", k, load(chain, k));
    }
  }
  for (int k = 0; k < chain.steps; ++k) {
    each += fmt::format("    const Values s{} = {};\n", k, expression(chain.step[k]));
  }
  each += fmt::format("    store<{}>(chain.result, at, count, s{});\n",
                      stored_type(chain.result_is_bool != 0), chain.steps - 1);

  KernelSource source;
  source.name = fmt::format("Chain_{:016x}", number_of(once + each));
  source.text = fmt::format(R"(#include "cuda/device/chain.cuh"

namespace towerflow::cuda::device {{

TOWERFLOW_KERNEL({}, 256, Chain chain, int64 n) {{
{}  for (int64 at = grid_thread() * kChainPack; at < n; at += grid_threads() * kChainPack) {{
    const int count = neighbours(at, n);
{}  }}
}}

}}  // namespace towerflow::cuda::device
)",
                            source.name, once, each);
  return source;
}

}  // namespace towerflow::cuda
