// Chains of elementwise ops in one pass over memory.
#include <algorithm>
#include <optional>
#include <string_view>

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

/// Returns how an input is read: as large as the result, as one number, or by strides.
Chain::Input chain_input(const TensorDesc& input, const Shape& result) {
  Chain::Input made;
  made.is_bool = input.dtype == DType::bool_ ? 1 : 0;
  if (input.shape.elements() == result.elements()) return made;
  if (input.shape.elements() == 1) {
    made.mode = 1;
    return made;
  }
  made.mode = 2;
  const std::vector<std::int64_t> strides = broadcast_strides(input.shape, result);
  std::copy(strides.begin(), strides.end(), made.strides);
  return made;
}

Chain chain_of(const KernelRequest& request) {
  const auto& program = request.attributes<ElementwiseProgram>();
  Chain chain;
  chain.inputs = static_cast<int>(request.inputs.size());
  chain.steps = static_cast<int>(program.steps.size());
  chain.rank = static_cast<int>(program.shape.rank());
  chain.result_is_bool = request.outputs[0].dtype == DType::bool_ ? 1 : 0;
  check_32_bits(program.shape.elements(), "a chain of elementwise operations");
  for (std::size_t d = 0; d < program.shape.rank(); ++d) {
    const auto size = static_cast<std::uint32_t>(program.shape.size(d));
    chain.sizes[d] = device::Divisor::of(std::max(size, 1U));
  }
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    chain.input[i] = chain_input(request.inputs[i], program.shape);
  }
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

std::unique_ptr<PreparedKernel> prepare_chain(Device& device, const KernelRequest& request) {
  constexpr std::int64_t kPack = 4;
  const std::int64_t n = request.outputs[0].shape.elements();
  KernelTraits traits;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.inputs[i] == request.outputs[0])
      traits.in_place.push_back({0, static_cast<int>(i)});
  }
  return make_kernel(
      [kernel = device.kernel("Chain_float32"), prepared = chain_of(request), n](
          CudaQueue& queue, const LaunchArgs& args) {
        if (n == 0) return;
        Chain chain = prepared;
        for (int i = 0; i < chain.inputs; ++i) chain.input[i].data = args.inputs[i];
        chain.result = args.outputs[0];
        launch(queue, kernel, blocks_for(queue.device(), (n + kPack - 1) / kPack), chain, n);
      },
      std::move(traits));
}

}  // namespace

void add_elementwise_kernels(CudaEntries& entries) {
  entries.push_back({"_Elementwise", "cuda", accepts_chain, prepare_chain});
}

}  // namespace towerflow::cuda
