#include "ops/array/identity_n.h"

#include <algorithm>
#include <cstring>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/family.h"

namespace towerflow {
namespace {

void same_shapes(InferenceContext& context) {
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    context.add_output(context.dtype(i), context.shape(i));
  }
}

std::vector<OptionalGradient> identity_n_gradient(const Operation& op,
                                                  const std::vector<OptionalGradient>& dys) {
  std::vector<OptionalGradient> dxs(dys);
  for (std::size_t i = 0; i < dxs.size(); ++i) {
    const Tensor x = op.input(i);
    if (!dxs[i] && is_differentiable(x.dtype())) dxs[i] = zeros_like(x, {}, op.site());
  }
  return dxs;
}

std::unique_ptr<PreparedKernel> copy_all_kernel(const KernelRequest& request) {
  const std::vector<TensorDesc> inputs(request.inputs.begin(), request.inputs.end());
  return function_kernel(
      [inputs](const LaunchArgs& args) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          if (inputs[i].dtype == DType::string) {
            std::copy_n(args.input<std::string>(i), inputs[i].shape.elements(),
                        args.output<std::string>(i));
          } else if (inputs[i].bytes() > 0) {
            std::memcpy(args.outputs[i], args.inputs[i], inputs[i].bytes());
          }
        }
      },
      {.may_fail = std::any_of(inputs.begin(), inputs.end(), [](const TensorDesc& input) {
         return input.dtype == DType::string;
       })});
}

}  // namespace

static void register_identity_n_ops(OpRegistry& registry) {
  registry.add({.name = "IdentityN",
                .inputs = {"input: list(T)"},
                .outputs = {"output: list(T)"},
                .shape = same_shapes,
                .gradient = identity_n_gradient});
}

static void register_identity_n_kernels(KernelTable& table) {
  table.add({.op = "IdentityN", .label = "copy", .accepts = {}, .prepare = copy_all_kernel});
}

OpFamily identity_n_family() {
  return {.ops = register_identity_n_ops, .kernels = register_identity_n_kernels};
}

std::vector<Tensor> identity_n(const OperandList& input, IdentityNOptions options, Site site) {
  const Operand* first = input.items().empty() ? nullptr : &input.items()[0];
  for (const Operand& item : input.items()) {
    if (item.any_tensor() != nullptr) {
      first = &item;
      break;
    }
  }
  if (first == nullptr) {
    throw ValueError("identity_n needs at least one tensor",
                     {.site = site, .op = "IdentityN", .hint = input.why_empty()});
  }
  OpBuilder builder("IdentityN", options.name, site, {first});
  for (const Operand& item : input.items()) builder.input(item, "input");
  return builder.build().outputs();
}

}  // namespace towerflow
