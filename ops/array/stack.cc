#include "ops/array/stack.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/stack_attrs.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

void pack_shape(InferenceContext& context) {
  Shape common = Shape::unknown();
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const auto merged = common.merged(context.shape(i));
    if (!merged) {
      context.fail(fmt::format("Shapes must be equal, but are {} and {}: value {} of a stack",
                               common.text(), context.shape(i).text(), i));
    }
    if (context.dtype(i) != context.dtype(0)) {
      context.fail_type(fmt::format("the values of a stack must have one dtype, but are {} and {}",
                                    dtype_name(context.dtype(0)), dtype_name(context.dtype(i))));
    }
    common = *merged;
  }
  if (!common.has_rank()) return context.add_output(context.dtype(0), Shape::unknown());
  const int axis = context.attrs<PackAttrs>().axis;
  const auto at = normalized_axis(axis, common.rank() + 1);
  if (!at) {
    context.fail(fmt::format("Argument `axis` = {} not in range [{}, {})", axis,
                             -static_cast<std::int64_t>(common.rank()) - 1, common.rank() + 1));
  }
  std::vector<Dim> dims = common.dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*at), Dim(context.num_inputs()));
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

/// Returns the number of elements before and after dimension `axis` of `shape`.
std::pair<std::int64_t, std::int64_t> sizes_around(const Shape& shape, std::size_t axis) {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= shape.size(d);
  }
  return {outer, inner};
}

std::unique_ptr<PreparedKernel> pack_kernel(const KernelRequest& request) {
  const Shape& out = request.outputs[0].shape;
  const auto count = static_cast<std::int64_t>(request.inputs.size());
  const auto [outer, inner] =
      sizes_around(out, *normalized_axis(request.attributes<PackAttrs>().axis, out.rank()));
  return strided_copy_kernel(
      request, request.inputs.size(),
      [=, outer = outer, inner = inner](std::size_t part, StridedCopy& copy) {
        copy.input = static_cast<int>(part);
        copy.to_offset = static_cast<std::int64_t>(part) * inner;
        copy.add(outer, inner, inner * count);
        copy.add(inner, 1, 1);
      });
}

/// Handles only short vectors of numbers: shapes stacked from single sizes.
Array pack_constant(const InferenceContext& context, std::span<const OutputSpec> outputs) {
  const Shape& shape = outputs[0].shape;
  if (shape.rank() != 1 || outputs[0].dtype == DType::string) return {};
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.constant(i) == nullptr) return {};
  }
  Array value(outputs[0].dtype, shape);
  const std::size_t size = dtype_size(value.dtype());
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    std::memcpy(static_cast<std::byte*>(value.raw()) + i * size, context.constant(i)->raw(), size);
  }
  return value;
}

std::vector<OptionalGradient> pack_gradient(const Operation& op,
                                            const std::vector<OptionalGradient>& dys) {
  std::vector<OptionalGradient> dxs;
  for (const Tensor& part :
       unstack(dense_gradient(dys[0], op.site()), static_cast<int>(op.num_inputs()),
               {.axis = op.attrs().as<PackAttrs>().axis}, op.site())) {
    dxs.emplace_back(part);
  }
  return dxs;
}

void unpack_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<UnpackAttrs>();
  const Shape& value = context.shape(0);
  Shape part = Shape::unknown();
  if (value.has_rank()) {
    const auto at = normalized_axis(attrs.axis, value.rank());
    if (!at) {
      context.fail(fmt::format("Argument `axis` = {} not in range [-{}, {})", attrs.axis,
                               value.rank(), value.rank()));
    }
    if (value[*at].known() && value.size(*at) != attrs.num) {
      context.fail(fmt::format("Dimension must be {} but is {}: the one that is unstacked",
                               attrs.num, value.size(*at)));
    }
    std::vector<Dim> dims = value.dims();
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(*at));
    part = Shape(std::move(dims));
  }
  for (std::int64_t i = 0; i < attrs.num; ++i) context.add_output(context.dtype(0), part);
}

std::unique_ptr<PreparedKernel> unpack_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<UnpackAttrs>();
  const Shape& in = request.inputs[0].shape;
  const auto [outer, inner] = sizes_around(in, *normalized_axis(attrs.axis, in.rank()));
  return strided_copy_kernel(
      request, request.outputs.size(),
      [count = attrs.num, outer = outer, inner = inner](std::size_t part, StridedCopy& copy) {
        copy.output = static_cast<int>(part);
        copy.from_offset = static_cast<std::int64_t>(part) * inner;
        copy.add(outer, inner * count, inner);
        copy.add(inner, 1, 1);
      });
}

std::vector<OptionalGradient> unpack_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  std::vector<Operand> parts;
  for (std::size_t i = 0; i < dys.size(); ++i) {
    parts.emplace_back(
        dys[i] ? dense_gradient(dys[i], op.site()) : zeros_like(op.output(i), {}, op.site()),
        op.site());
  }
  return {stack(OperandList(parts), {.axis = op.attrs().as<UnpackAttrs>().axis}, op.site())};
}

}  // namespace

static void register_stack_ops(OpRegistry& registry) {
  registry.add({.name = "Pack",
                .inputs = {"values: N * T"},
                .outputs = {"output: T"},
                .attrs = attributes<PackAttrs>(),
                .shape = pack_shape,
                .gradient = pack_gradient,
                .constant = pack_constant});
  registry.add({.name = "Unpack",
                .inputs = {"value: T"},
                .outputs = {"output: num * T"},
                .attrs = attributes<UnpackAttrs>(),
                .shape = unpack_shape,
                .gradient = unpack_gradient});
}

static void register_stack_kernels(KernelTable& table) {
  table.add({.op = "Pack", .label = "copy", .accepts = {}, .prepare = pack_kernel});
  table.add({.op = "Unpack", .label = "copy", .accepts = {}, .prepare = unpack_kernel});
}

OpFamily stack_family() { return {.ops = register_stack_ops, .kernels = register_stack_kernels}; }

namespace {

bool has_slices(const OperandList& values) {
  return std::any_of(values.items().begin(), values.items().end(),
                     [](const Operand& item) { return item.slices() != nullptr; });
}

/// Returns whether the first of the values is an array of some dimensions and none is a tensor:
/// NumPy makes no list of arrays a tensor.
bool begins_with_array(const OperandList& values) {
  const Array* const first = values.items()[0].array();
  return first != nullptr && first->shape().rank() > 0 && values.any_tensor() == nullptr;
}

Tensor stack_once(const OperandList& values, const std::string& name, const StackOptions& options,
                  Site site) {
  Graph& graph = graph_of(values);
  const NameScope scope(graph, name, site);
  check_same_dtype(values, "Pack", "values", site);
  std::optional<DType> dtype;
  if (const Tensor* first = values.any_tensor()) dtype = first->dtype();
  // Otherwise the op converts the values: each to its own dtype, unless one is a tensor.
  const bool is_one_list = options.axis == 0 && !has_slices(values) && !begins_with_array(values);
  const char* prefix = is_one_list ? "" : "values_";
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string item = fmt::format("{}{}", prefix, i);
    const Nested* const nested = values.items()[i].nested();
    if (is_one_list && nested != nullptr &&
        std::holds_alternative<std::vector<Nested>>(nested->value())) {
      const NameScope searched(graph, item,
                               site);  // TensorFlow looks for tensors in the list first
    }
    inputs.push_back(convert_operand(graph, values.items()[i], item, dtype));
    if (is_one_list) dtype = inputs[0].dtype();
  }
  return graph
      .add({.op = "Pack",
            .name = scope.name(),
            .inputs = inputs,
            .attrs = PackAttrs{options.axis},
            .site = site})
      .output(0);
}

}  // namespace

Tensor stack(const OperandList& values, StackOptions options, Site site) {
  const std::string name = options.name.empty() ? "stack" : options.name;
  if (values.size() == 0 && options.axis != 0) {
    throw ValueError("a stack of no tensors has no shape",
                     {.site = site, .op = "Pack", .hint = values.why_empty()});
  }
  Graph& graph = graph_of(values);
  if (values.size() == 0) return make_constant(graph, Array(DType::float32, Shape{0}), name, site);
  if (values.any_tensor() == nullptr && options.axis == 0) {
    std::vector<Nested> items;
    for (const Operand& item : values.items()) {
      if (item.nested() != nullptr) items.push_back(*item.nested());
    }
    if (items.size() == values.size()) {
      return make_constant(graph, to_array(Nested(std::move(items))), name, site);
    }
  }
  if (options.axis != 0) {
    // Checks the axis against the first value's rank before the op takes up its name.
    const Tensor first = convert_operand(graph, values.items()[0], name, std::nullopt);
    const Shape& shape = first.shape();
    if (shape.has_rank() && !normalized_axis(options.axis, shape.rank() + 1)) {
      throw ValueError(fmt::format("Argument `axis` = {} not in range [-{}, {})", options.axis,
                                   shape.rank() + 1, shape.rank() + 1),
                       {.site = site, .op = "Pack"});
    }
  }
  if (options.axis != 0) return stack_once(values, name, options, site);
  if (has_slices(values) || begins_with_array(values)) {
    // TensorFlow first tries, in vain, to make one tensor of the list, which uses up the name.
    if (values.items()[0].slices() != nullptr || begins_with_array(values)) {
      convert_operand(graph, values.items()[0], name, std::nullopt);
    } else {
      const NameScope tried(graph, name, site);
    }
    return stack_once(values, name, options, site);
  }
  try {
    return stack_once(values, name, options, site);
  } catch (const Error&) {
    // Along the first axis TensorFlow first tries to make one tensor of the list and then packs it
    // again, so that an error uses up two names.
    return stack_once(values, name, options, site);
  }
}

std::vector<Tensor> unstack(const Operand& value, std::optional<int> num, UnstackOptions options,
                            Site site) {
  const auto unpack = [&](const Operand& whole, std::int64_t count) {
    return OpBuilder("Unpack", options.name, "unstack", site, {&whole})
        .input(whole, "value")
        .attrs(UnpackAttrs{options.axis, count})
        .build()
        .outputs();
  };
  if (num) return unpack(value, *num);
  const Tensor tensor = convert_operand(graph_of(value), value, "", std::nullopt);
  std::int64_t count = -1;
  const Shape& shape = tensor.shape();
  if (shape.has_rank()) {
    const auto at = normalized_axis(options.axis, shape.rank());
    if (!at) {
      throw ValueError(fmt::format("Argument `axis` = {} not in range [-{}, {})", options.axis,
                                   shape.rank(), shape.rank()),
                       {.site = site, .op = "Unpack"});
    }
    count = shape.size(*at);
  }
  if (count < 0) {
    throw ValueError(fmt::format("Cannot infer argument `num` from shape {}", shape.text()),
                     {.site = site, .op = "Unpack"});
  }
  return unpack(Operand(tensor, site), count);
}

}  // namespace towerflow
