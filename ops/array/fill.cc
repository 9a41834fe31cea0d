#include "ops/array/fill.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "core/graph/short_float.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_input.h"
#include "ops/array/shape_of.h"
#include "ops/family.h"
#include "ops/math/reduce.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

void fill_shape(InferenceContext& context) {
  const Shape& dims = context.shape(0);
  if (dims.has_rank() && dims.rank() != 1) {
    context.fail(
        fmt::format("Shape must be rank 1 but is rank {}: the sizes of a fill", dims.rank()));
  }
  if (context.shape(1).has_rank() && context.shape(1).rank() != 0) {
    context.fail(fmt::format("Shape must be rank 0 but is rank {}: the value of a fill",
                             context.shape(1).rank()));
  }
  if (const Array* sizes = context.constant(0)) {
    const std::vector<std::int64_t> values = integers_of(*sizes);
    std::int64_t elements = 1;
    for (const std::int64_t size : values) {
      if (size < 0) context.fail(fmt::format("Invalid value in tensor used for shape: {}", size));
      if (__builtin_mul_overflow(elements, size, &elements)) {
        context.fail("the number of elements of a fill does not fit 63 bits");
      }
    }
    context.add_output(context.dtype(1), Shape(std::span<const std::int64_t>(values)));
    return;
  }
  const bool known = dims.has_rank() && dims[0].known();
  context.add_output(context.dtype(1), known
                                           ? Shape::of_rank(static_cast<std::size_t>(dims.size(0)))
                                           : Shape::unknown());
}

std::vector<OptionalGradient> fill_gradient(const Operation& op,
                                            const std::vector<OptionalGradient>& dys) {
  return {std::nullopt, reduce_sum(dense_gradient(dys[0], op.site()), {}, op.site())};
}

std::unique_ptr<PreparedKernel> fill_kernel(const KernelRequest& request) {
  const std::int64_t elements = request.outputs[0].shape.elements();
  return strided_copy_kernel(request, 1, [elements](std::size_t, StridedCopy& copy) {
    copy.input = 1;
    copy.add(elements, 0, 1);
  });
}

std::unique_ptr<PreparedKernel> zeros_kernel(const KernelRequest& request) {
  const std::int64_t elements = request.outputs[0].shape.elements();
  if (request.outputs[0].dtype == DType::string) {
    return function_kernel([elements](const LaunchArgs& args) {
      std::fill_n(args.output<std::string>(0), elements, std::string());
    });
  }
  const std::size_t bytes = request.outputs[0].bytes();
  return function_kernel(
      [bytes](const LaunchArgs& args) {
        if (bytes > 0) std::memset(args.outputs[0], 0, bytes);
      },
      {.may_fail = false});
}

/// Returns a scalar 0 or 1.
Array scalar_of(DType dtype, bool one) {
  if (is_short_float(dtype)) return narrowed(Array::scalar(one ? 1.0F : 0.0F), dtype);
  Array array(dtype, Shape{});
  if (dtype == DType::string && !one) return array;
  if (!dispatch_dtype(dtype, [&]<class T>() { array.data<T>()[0] = static_cast<T>(one); })) {
    throw TypeError(
        fmt::format("there is no {} of dtype {}", one ? "one" : "zero", dtype_name(dtype)));
  }
  return array;
}

Array filled(DType dtype, const Shape& shape, bool one) {
  const Array value = scalar_of(dtype, one);
  Array array(dtype, shape);
  dispatch_copyable(dtype, [&]<class T>() {
    std::fill_n(static_cast<T*>(array.raw()), array.elements(),
                *static_cast<const T*>(value.raw()));
  });
  return array;
}

constexpr std::int64_t kLargestConstant = 1000;  // elements, as in TensorFlow

Tensor fill_of(Graph& graph, const NameScope& scope, const Tensor& dims, const Array& value,
               Site site) {
  const Tensor constant = make_constant(graph, value, "Const", site);
  const Tensor made =
      graph.add({.op = "Fill", .name = scope.name(), .inputs = {dims, constant}, .site = site})
          .output(0);
  return with_shape_from_sizes(made, dims, site);
}

/// Makes a constant with the scope's name. If the name is already taken, TensorFlow falls back to a
/// Fill, which fails for the same reason but leaves its operands in the graph.
Tensor small_constant(Graph& graph, const NameScope& scope, const Shape& shape, DType dtype,
                      bool one, const char* dims_name, Site site) {
  try {
    return make_constant(graph, filled(dtype, shape, one), scope.name(), site);
  } catch (const ValueError&) {
    const Tensor dims = make_constant(graph, shape_to_array(shape), dims_name, site);
    return fill_of(graph, scope, dims, scalar_of(dtype, one), site);
  }
}

Tensor constant_fill(const Shape& shape, const char* kind, bool one, const ZerosOptions& options,
                     Site site) {
  Graph& graph = get_default_graph();
  const NameScope scope(graph, options.name.empty() ? kind : options.name, site);
  try {
    if (!shape.fully_known()) {
      throw ValueError(fmt::format("the shape {} of {} is not fully known", shape.text(), kind),
                       {.hint = "pass tf::shape(x) to take over a shape known only in a run"});
    }
    if (shape.elements() < kLargestConstant) {
      return small_constant(graph, scope, shape, options.dtype, one, "Const", site);
    }
    const Array value = scalar_of(options.dtype, one);
    const Tensor dims = make_constant(graph, shape_to_array(shape), "shape_as_tensor", site);
    return fill_of(graph, scope, dims, value, site);
  } catch (const Error&) {
    rethrow_with({.site = site});
  }
}

Tensor computed_fill(const Tensor& shape, const char* kind, bool one, const ZerosOptions& options,
                     Site site) {
  const NameScope scope(shape.graph(), options.name.empty() ? kind : options.name, site);
  return fill_of(shape.graph(), scope, shape, scalar_of(options.dtype, one), site);
}

/// Makes a Fill of the shape of `like`, and sets what is known of that shape.
Tensor fill_like(const Tensor& like, const NameScope& scope, const Array& value,
                 const char* shape_name, Site site) {
  const Tensor dims = towerflow::shape(like, {.name = shape_name}, site);
  const Tensor result = fill_of(like.graph(), scope, dims, value, site);
  Tensor(result).set_shape(like.shape(), site);
  return result;
}

}  // namespace

static void register_fill_ops(OpRegistry& registry) {
  registry.add({.name = "Fill",
                .inputs = {"dims: Index(index_type)", "value: T"},
                .outputs = {"output: T"},
                .shape = fill_shape,
                .gradient = fill_gradient});
  registry.add({.name = "ZerosLike",
                .inputs = {"x: T"},
                .outputs = {"y: T"},
                .shape = [](InferenceContext& c) { c.add_output(c.dtype(0), c.shape(0)); },
                .gradient = NoGradient{"the result does not depend on the values of the input"}});
}

static void register_fill_kernels(KernelTable& table) {
  table.add({.op = "Fill", .label = "fill", .accepts = {}, .prepare = fill_kernel});
  table.add({.op = "ZerosLike", .label = "zero", .accepts = {}, .prepare = zeros_kernel});
}

OpFamily fill_family() { return {.ops = register_fill_ops, .kernels = register_fill_kernels}; }

Tensor fill(const Operand& dims, const Operand& value, FillOptions options, Site site) {
  const Tensor made = OpBuilder("Fill", options.name, site, {&dims, &value})
                          .index_input(dims, "dims")
                          .input(value, "value")
                          .output();
  return with_shape_from_sizes(made, made.op().input(0), site);
}

Tensor zeros(const Shape& shape, ZerosOptions options, Site site) {
  return constant_fill(shape, "zeros", false, options, site);
}
Tensor zeros_of_shape(const Tensor& shape, ZerosOptions options, Site site) {
  return computed_fill(shape, "zeros", false, options, site);
}
Tensor ones(const Shape& shape, ZerosOptions options, Site site) {
  return constant_fill(shape, "ones", true, options, site);
}
Tensor ones_of_shape(const Tensor& shape, ZerosOptions options, Site site) {
  return computed_fill(shape, "ones", true, options, site);
}

Tensor zeros_like(const Operand& operand, LikeOptions options, Site site) {
  const Tensor* given = operand.any_tensor();
  Graph& graph = graph_of(operand);
  const NameScope scope(graph, options.name.empty() ? "zeros_like" : options.name, site);
  const auto zeros_of = [&](const Shape& shape, DType dtype) {
    if (shape.elements() < kLargestConstant) {
      return small_constant(graph, scope, shape, dtype, false, "shape_as_tensor", site);
    }
    const Tensor dims = make_constant(graph, shape_to_array(shape), "shape_as_tensor", site);
    return fill_of(graph, scope, dims, scalar_of(dtype, false), site);
  };
  if (operand.slices() != nullptr) {  // need not be made dense
    const Shape shape = static_shape(operand);
    if (shape.fully_known()) return zeros_of(shape, options.dtype.value_or(given->dtype()));
  }
  const Tensor tensor = convert_operand(graph, operand, "tensor", std::nullopt);
  const DType dtype = options.dtype.value_or(tensor.dtype());
  if (tensor.shape().fully_known()) return zeros_of(tensor.shape(), dtype);
  if (dtype != tensor.dtype()) {
    return fill_like(tensor, scope, scalar_of(dtype, false), "Shape", site);
  }
  return graph.add({.op = "ZerosLike", .name = scope.name(), .inputs = {tensor}, .site = site})
      .output(0);
}

Tensor ones_like(const Operand& operand, LikeOptions options, Site site) {
  Graph& graph = graph_of(operand);
  const NameScope scope(graph, options.name.empty() ? "ones_like" : options.name, site);
  const Tensor tensor = convert_operand(graph, operand, "tensor", std::nullopt);
  const DType dtype = options.dtype.value_or(tensor.dtype());
  const bool known = tensor.shape().fully_known();
  return fill_like(tensor, scope, scalar_of(dtype, true), known ? "Shape/shape_as_tensor" : "Shape",
                   site);
}

}  // namespace towerflow
