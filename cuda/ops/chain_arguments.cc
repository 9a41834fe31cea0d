#include "cuda/ops/chain_arguments.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "cuda/device/elementwise_ops.h"
#include "cuda/ops/operands.h"
#include "ops/elementwise/program.h"

namespace towerflow::cuda {
namespace {

using device::Chain;
using device::ChainOp;

std::optional<ChainOp> chain_op(std::string_view name) {
#define TOWERFLOW_NAME(op) \
  if (name == #op) return ChainOp::op;
  TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_NAME)
  TOWERFLOW_PREDICATE_OPS(TOWERFLOW_NAME)
  TOWERFLOW_NAME(LogicalNot)
  TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_NAME)
  TOWERFLOW_COMPARISON_OPS(TOWERFLOW_NAME)
  TOWERFLOW_LOGICAL_OPS(TOWERFLOW_NAME)
#undef TOWERFLOW_NAME
  // The condition of Select may be a vector that chooses rows, and is then no step of a chain.
  if (name == "Select" || name == "SelectV2") return ChainOp::Select;
  if (name == "Cast") return ChainOp::Abs;  // of truth values: see casts_truth_values
  return std::nullopt;
}

bool is_chain_dtype(DType dtype) { return dtype == DType::float32 || dtype == DType::bool_; }

/// Returns whether a step casts truth values to float32, which numbers of a chain are already.
bool casts_truth_values(const KernelRequest& request, const ElementwiseStep& step) {
  const ElementwiseOperand& operand = step.operands[0];
  const auto at = static_cast<std::size_t>(operand.index);
  const DType from = operand.is_step ? request.attributes<ElementwiseProgram>().steps[at].dtype
                                     : request.inputs[at].dtype;
  return from == DType::bool_ && step.dtype == DType::float32;
}

}  // namespace

bool accepts_chain(const KernelRequest& request) {
  const auto& program = request.attributes<ElementwiseProgram>();
  const std::size_t rank = program.shape.rank();
  if (request.inputs.size() > device::kMaxInputs || program.steps.size() > device::kMaxSteps ||
      rank > device::kMaxRank) {
    return false;
  }
  return std::all_of(request.inputs.begin(), request.inputs.end(),
                     [](const TensorDesc& input) { return is_chain_dtype(input.dtype); }) &&
         std::all_of(program.steps.begin(), program.steps.end(), [&](const ElementwiseStep& step) {
           return is_chain_dtype(step.dtype) && chain_op(step.op) && step.operands.size() <= 3 &&
                  (step.op != "Cast" || casts_truth_values(request, step));
         });
}

namespace {

/// Returns how an input is read: as large as the result (0), as one number (1), or by strides (2).
std::int8_t mode_of(const TensorDesc& input, const Shape& result) {
  if (input.shape.elements() == result.elements()) return 0;
  return input.shape.elements() == 1 ? 1 : 2;
}

/// Writes how inputs are read by strides. Dimensions that all of them join are one.
void add_strides(const KernelRequest& request, Chain& chain) {
  const Shape& result = request.attributes<ElementwiseProgram>().shape;
  if (result.elements() == 0) return;
  std::array<std::vector<std::int64_t>, device::kMaxInputs> strides;
  for (std::size_t i = 0; i < device::kMaxInputs; ++i) {
    const bool strided = i < request.inputs.size() && chain.input[i].mode == 2;
    strides[i] = strided ? broadcast_strides(request.inputs[i].shape, result)
                         : std::vector<std::int64_t>(result.rank(), 0);
  }
  View<device::kMaxInputs> view;
  for (std::size_t d = 0; d < result.rank(); ++d) {
    std::array<std::int64_t, device::kMaxInputs> steps{};
    for (std::size_t i = 0; i < device::kMaxInputs; ++i) steps[i] = strides[i][d];
    view.add(result.size(d), steps);
  }
  const auto joined = view.strided("a chain of elementwise operations");
  chain.rank = joined.rank;
  std::copy(std::begin(joined.sizes), std::end(joined.sizes), chain.sizes);
  for (std::size_t i = 0; i < device::kMaxInputs; ++i) {
    std::copy(std::begin(joined.strides[i]), std::end(joined.strides[i]), chain.input[i].strides);
  }
}

}  // namespace

Chain chain_of(const KernelRequest& request) {
  const auto& program = request.attributes<ElementwiseProgram>();
  Chain chain;
  chain.inputs = static_cast<int>(request.inputs.size());
  chain.steps = static_cast<int>(program.steps.size());
  chain.result_is_bool = request.outputs[0].dtype == DType::bool_ ? 1 : 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    chain.input[i].is_bool = request.inputs[i].dtype == DType::bool_ ? 1 : 0;
    chain.input[i].mode = mode_of(request.inputs[i], program.shape);
  }
  add_strides(request, chain);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const ElementwiseStep& step = program.steps[i];
    chain.step[i].op = static_cast<std::int16_t>(*chain_op(step.op));
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const ElementwiseOperand& operand = step.operands[k];
      const int index = operand.is_step ? device::kMaxInputs + operand.index : operand.index;
      chain.step[i].operands[k] = static_cast<std::int16_t>(index);
    }
  }
  return chain;
}

}  // namespace towerflow::cuda
