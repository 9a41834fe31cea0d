#include "ops/array/ensure_shape.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/copy_elements.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct EnsureShapeAttrs {
  Shape shape;
  static constexpr auto fields = std::tuple{attr::required("shape", &EnsureShapeAttrs::shape)};
};

std::string ensured_text(const Shape& found, const Shape& said) {
  return fmt::format("Shape of tensor {} is not compatible with expected shape {}", found.text(),
                     said.text());
}

void ensure_shape_shape(InferenceContext& context) {
  const Shape& said = context.attrs<EnsureShapeAttrs>().shape;
  const auto merged = said.merged(context.shape(0));
  if (!merged) context.fail(ensured_text(context.shape(0), said));
  context.add_output(context.dtype(0), *merged);
}

std::unique_ptr<PreparedKernel> ensure_shape_kernel(const KernelRequest& request) {
  const Shape said = request.attributes<EnsureShapeAttrs>().shape;
  const TensorDesc input = request.inputs[0];
  const Shape declared = request.outputs[0].shape;
  return function_kernel(
      [said, input, declared](const LaunchArgs& args) {
        if (!said.compatible(input.shape)) {
          throw errors::InvalidArgumentError(ensured_text(input.shape, said));
        }
        void* to = args.output_memory(0, input.shape, declared);
        copy_elements(input.dtype, input.shape.elements(), args.inputs[0], to);
      },
      {.in_place = {{0, 0}}});
}

}  // namespace

static void register_ensure_shape_ops(OpRegistry& registry) {
  registry.add({.name = "EnsureShape",
                .inputs = {"input: T"},
                .outputs = {"output: T"},
                .attrs = attributes<EnsureShapeAttrs>(),
                .shape = ensure_shape_shape,
                .gradient = [](const Operation&, const std::vector<OptionalGradient>& dys)
                    -> std::vector<OptionalGradient> { return {dys[0]}; }});
}

static void register_ensure_shape_kernels(KernelTable& table) {
  table.add({.op = "EnsureShape", .label = "copy", .accepts = {}, .prepare = ensure_shape_kernel});
}

OpFamily ensure_shape_family() {
  return {.ops = register_ensure_shape_ops, .kernels = register_ensure_shape_kernels};
}

Tensor ensure_shape(const Operand& x, const Shape& shape, EnsureShapeOptions options, Site site) {
  return OpBuilder("EnsureShape", options.name, site, {&x})
      .input(x, "input")
      .attrs(EnsureShapeAttrs{shape})
      .output();
}

}  // namespace towerflow
