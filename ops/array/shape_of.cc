#include "ops/array/shape_of.h"

#include <fmt/format.h>

#include <cstring>

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

void shape_n_shape(InferenceContext& context) {
  const DType dtype = context.attrs<ShapeAttrs>().out_type;
  if (!is_index(dtype)) {
    context.fail_type(
        fmt::format("Value passed to attr 'out_type' has DataType {}, not int32 or "
                    "int64",
                    dtype_name(dtype)));
  }
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.dtype(i) != context.dtype(0)) {
      context.fail_type(
          fmt::format("Tensors in list passed to 'input' of ShapeN have types {} and "
                      "{} that don't all match",
                      dtype_name(context.dtype(0)), dtype_name(context.dtype(i))));
    }
    const Shape& input = context.shape(i);
    context.add_output(dtype, input.has_rank() ? Shape{input.rank()} : Shape{None});
  }
}

std::unique_ptr<PreparedKernel> shape_kernel(const KernelRequest& request) {
  std::vector<Array> values;
  for (const TensorDesc& input : request.inputs) {
    values.push_back(shape_vector(input.shape, request.attributes<ShapeAttrs>().out_type));
  }
  return function_kernel(
      [values](const LaunchArgs& args) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (values[i].bytes() == 0) continue;
          std::memcpy(args.outputs[i], values[i].raw(), values[i].bytes());
        }
      },
      {.may_fail = false});
}

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
  registry.add({.name = "ShapeN",
                .inputs = {"input: N * T"},
                .outputs = {"output: N * out_type"},
                .attrs = attributes<ShapeAttrs>(),
                .shape = shape_n_shape,
                .gradient = NoGradient{"shapes are integers"}});
}

static void register_shape_kernels(KernelTable& table) {
  table.add({.op = "Shape", .label = "shape", .accepts = {}, .prepare = shape_kernel});
  table.add({.op = "ShapeN", .label = "shape", .accepts = {}, .prepare = shape_kernel});
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

std::vector<Tensor> shape_n(const OperandList& input, ShapeOptions options, Site site) {
  const Operand* first = nullptr;
  for (const Operand& item : input.items()) {
    if (first == nullptr && item.any_tensor() != nullptr) first = &item;
  }
  OpBuilder builder("ShapeN", options.name, site, {first});
  for (std::size_t i = 0; i < input.size(); ++i) {
    builder.input(input.items()[i], fmt::format("input_{}", i).c_str());
  }
  return builder.attrs(ShapeAttrs{options.out_type}).build().outputs();
}

}  // namespace towerflow
