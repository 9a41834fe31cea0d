#include "ops/array/shape_of.h"

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct ShapeAttrs {
  DType out_type = DType::int32;
  static constexpr auto fields = std::tuple{attr::field("out_type", &ShapeAttrs::out_type)};
};

}  // namespace

Array shape_vector(const Shape& shape, DType dtype) {
  Array array(dtype, Shape{shape.rank()});
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (dtype == DType::int32) {
      array.data<std::int32_t>()[i] = static_cast<std::int32_t>(shape.size(i));
    } else {
      array.data<std::int64_t>()[i] = shape.size(i);
    }
  }
  return array;
}

static void register_shape_ops(OpRegistry& registry) {
  registry.add({.name = "Shape",
                .inputs = {"input: T"},
                .outputs = {"output: out_type"},
                .attrs = attributes<ShapeAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      const Shape& input = context.shape(0);
                      context.add_output(context.attrs<ShapeAttrs>().out_type,
                                         input.has_rank() ? Shape{input.rank()} : Shape{None});
                    },
                .gradient = NoGradient{"shapes are integers"},
                .constant =
                    [](const InferenceContext& context, std::span<const OutputSpec>) {
                      const Shape& input = context.shape(0);
                      if (!input.fully_known()) return Array();
                      return shape_vector(input, context.attrs<ShapeAttrs>().out_type);
                    }});
}

static void register_shape_kernels(KernelTable& table) {
  table.add(
      {.op = "Shape", .label = "shape", .accepts = {}, .prepare = [](const KernelRequest& request) {
         const Array value =
             shape_vector(request.inputs[0].shape, request.attributes<ShapeAttrs>().out_type);
         return function_kernel(
             [value](const LaunchArgs& args) {
               std::memcpy(args.outputs[0], value.raw(), value.bytes());
             },
             {.may_fail = false});
       }});
}

OpFamily shape_of_family() {
  return {.ops = register_shape_ops, .kernels = register_shape_kernels};
}

Tensor runtime_shape(const Tensor& input, Site site) {
  return input.graph()
      .add({.op = "Shape", .name = "Shape", .inputs = {input}, .attrs = ShapeAttrs{}, .site = site})
      .output(0);
}

Tensor shape(const Operand& input, ShapeOptions options, Site site) {
  Graph& graph = graph_of(input);
  const NameScope scope(graph, options.name.empty() ? "Shape" : options.name, site);
  const Tensor tensor = convert_operand(graph, input, "", std::nullopt);
  if (tensor.shape().fully_known()) {
    return make_constant(graph, shape_vector(tensor.shape(), options.out_type), scope.name(), site);
  }
  return graph
      .add({.op = "Shape",
            .name = scope.name(),
            .inputs = {tensor},
            .attrs = ShapeAttrs{options.out_type},
            .site = site})
      .output(0);
}

}  // namespace towerflow
