#include "ops/array/placeholder_with_default.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/copy_elements.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct PlaceholderWithDefaultAttrs {
  Shape shape;
  static constexpr auto fields =
      std::tuple{attr::required("shape", &PlaceholderWithDefaultAttrs::shape)};
};

/// The static shape of the output does not depend on the default: a fed value may have another
/// shape.
void placeholder_with_default_shape(InferenceContext& context) {
  const Shape& promised = context.attrs<PlaceholderWithDefaultAttrs>().shape;
  if (!promised.compatible(context.shape(0))) {
    context.fail(fmt::format("the default has shape {}, which is not compatible with {}",
                             context.shape(0).text(), promised.text()));
  }
  context.add_output(context.dtype(0), promised);
}

std::unique_ptr<PreparedKernel> default_kernel(const KernelRequest& request) {
  const Shape declared_shape = request.outputs[0].shape;
  const TensorDesc input = request.inputs[0];
  return function_kernel(
      [input, declared_shape](const LaunchArgs& args) {
        void* to = args.output_memory(0, input.shape, declared_shape);
        copy_elements(input.dtype, input.shape.elements(), args.inputs[0], to);
      },
      {.may_fail = input.dtype == DType::string || input.shape != declared_shape});
}

}  // namespace

static void register_placeholder_with_default_ops(OpRegistry& registry) {
  registry.add({.name = "PlaceholderWithDefault",
                .inputs = {"input: dtype"},
                .outputs = {"output: dtype"},
                .attrs = attributes<PlaceholderWithDefaultAttrs>(),
                .shape = placeholder_with_default_shape,
                .gradient = [](const Operation&, const std::vector<OptionalGradient>& dys)
                    -> std::vector<OptionalGradient> { return {dys[0]}; },
                .view = true});
}

static void register_placeholder_with_default_kernels(KernelTable& table) {
  table.add(
      {.op = "PlaceholderWithDefault", .label = "copy", .accepts = {}, .prepare = default_kernel});
}

OpFamily placeholder_with_default_family() {
  return {.ops = register_placeholder_with_default_ops,
          .kernels = register_placeholder_with_default_kernels};
}

Tensor placeholder_with_default(const Operand& input, const Shape& shape,
                                PlaceholderWithDefaultOptions options, Site site) {
  return OpBuilder("PlaceholderWithDefault", options.name, site, {&input})
      .input(input, "input")
      .attrs(PlaceholderWithDefaultAttrs{shape})
      .output();
}

}  // namespace towerflow
