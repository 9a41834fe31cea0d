#include "ops/array/strided_slice.h"

#include <fmt/format.h>

#include <optional>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice_attrs.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

void check_bounds(InferenceContext& context, std::size_t first) {
  for (std::size_t i = first; i < first + 3; ++i) {
    const Shape& shape = context.shape(i);
    if (shape.has_rank() && shape.rank() != 1) {
      context.fail(
          fmt::format("Shape must be rank 1 but is rank {}: begin, end or strides", shape.rank()));
    }
    const auto merged = shape.merged(context.shape(first));
    if (!merged) context.fail("begin, end and strides of a slice differ in length");
  }
}

/// The begin and end of a slice in each dimension, if known.
using Bounds = std::optional<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>;

/// Returns the size of dimension `axis` after slicing it by entry `index`.
Dim sliced_dim(InferenceContext& context, std::size_t axis, std::size_t index, const Bounds& bounds,
               std::int64_t stride) {
  const auto& attrs = context.attrs<StridedSliceAttrs>();
  const Dim size = context.shape(0)[axis];
  const bool shrinks = mask_has(attrs.shrink_axis_mask, index);
  // TensorFlow checks the sign only if it knows the size.
  const char* wrong = stride == 0 || size.known() ? stride_error(attrs, index, stride) : nullptr;
  const bool whole = mask_has(attrs.begin_mask & attrs.end_mask, index);
  const bool placed = size.known() && (bounds || (whole && !shrinks));
  const std::int64_t begin = bounds ? bounds->first[index] : 0;
  const std::int64_t end = bounds ? bounds->second[index] : 0;
  ResolvedSlice picked;
  if (wrong == nullptr && placed) {
    wrong = resolve_slice(attrs, index, begin, end, stride, size.size(), picked);
  }
  if (wrong != nullptr) {
    context.fail(fmt::format("{}: dimension {} of {}{} by {}", wrong, axis, context.shape(0).text(),
                             bounds ? fmt::format(", from {} to {}", begin, end) : "", stride));
  }
  return placed ? Dim(picked.count) : Dim(std::nullopt);
}

/// Only the strides determine the rank of the result; begin and end determine its sizes.
void strided_slice_shape(InferenceContext& context) {
  check_bounds(context, 1);
  const Shape& input = context.shape(0);
  if (!input.has_rank() || context.constant(3) == nullptr) {
    return context.add_output(context.dtype(0), Shape::unknown());
  }
  const std::vector<std::int64_t> strides = integers_of(*context.constant(3));
  const auto& attrs = context.attrs<StridedSliceAttrs>();
  const SliceLayout layout = slice_layout(attrs, strides.size(), input.rank());
  Bounds bounds;
  const Array *begin = context.constant(1), *end = context.constant(2);
  if (begin != nullptr && end != nullptr) bounds.emplace(integers_of(*begin), integers_of(*end));
  std::vector<Dim> dims;
  for (const SliceLayout::Part& part : layout.parts) {
    const auto axis = static_cast<std::size_t>(part.axis);
    if (part.axis == SliceLayout::kNewAxis) {
      dims.push_back(Dim(1));
    } else if (part.entry == SliceLayout::kWhole) {
      dims.push_back(input[axis]);
    } else {
      const auto entry = static_cast<std::size_t>(part.entry);
      const Dim left = sliced_dim(context, axis, entry, bounds, strides[entry]);
      if (!part.shrinks) dims.push_back(left);
    }
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

/// A slice of a tensor of shape `whole` as a kernel computes it: the bounds are read at launch.
struct SliceOfShape {
  StridedSliceAttrs attrs;
  Shape whole;
  std::vector<TensorDesc> descs;  ///< of the node's inputs; begin, end and strides are 1, 2, 3
  SliceLayout layout;
  std::vector<int> entries;  ///< for each dimension of `whole`

  SliceOfShape(const KernelRequest& request, Shape of)
      : attrs(request.attributes<StridedSliceAttrs>()),
        whole(std::move(of)),
        descs(request.inputs) {
    try {
      const auto count = static_cast<std::size_t>(descs[1].shape.elements());
      layout = slice_layout(attrs, count, whole.rank());
    } catch (const ValueError& error) {
      throw errors::InvalidArgumentError(error.message());
    }
    for (const SliceLayout::Part& one : layout.parts) {
      if (one.axis != SliceLayout::kNewAxis) entries.push_back(one.entry);
    }
  }

  /// Returns what is taken of dimension `axis` by the bounds of a launch.
  ResolvedSlice picked(const void* const* inputs, std::size_t axis) const {
    const std::int64_t size = whole.size(axis);
    ResolvedSlice slice{0, 1, size};
    const int entry = entries[axis];
    if (entry == SliceLayout::kWhole) return slice;
    const auto value = [&](std::size_t k) { return integer_at(descs[k].dtype, inputs[k], entry); };
    const char* wrong = resolve_slice(attrs, static_cast<std::size_t>(entry), value(1), value(2),
                                      value(3), size, slice);
    if (wrong != nullptr) throw errors::InvalidArgumentError(wrong);
    return slice;
  }

  /// Returns the shape of the part.
  Shape part(const void* const* inputs) const {
    std::vector<Dim> dims;
    for (const SliceLayout::Part& one : layout.parts) {
      if (one.axis == SliceLayout::kNewAxis) {
        dims.push_back(Dim(1));
      } else {
        const ResolvedSlice slice = picked(inputs, static_cast<std::size_t>(one.axis));
        if (!one.shrinks) dims.push_back(Dim(slice.count));
      }
    }
    return Shape(std::move(dims));
  }

  /// Sets the dimensions of `copy`: from `whole` to the part, which has `elements`, or with `back`
  /// from the part into `whole`.
  void set_copy_dims(const void* const* inputs, std::int64_t elements, bool back,
                     StridedCopy& copy) const {
    std::int64_t found = 1;
    std::int64_t part_stride = elements;
    std::int64_t whole_stride = whole.elements();
    for (std::size_t i = 0; i < whole.rank(); ++i) {
      const std::int64_t size = whole.size(i);
      whole_stride = size == 0 ? 0 : whole_stride / size;
      const ResolvedSlice slice = picked(inputs, i);
      found *= slice.count;
      part_stride = slice.count == 0 ? 0 : part_stride / slice.count;
      (back ? copy.to_offset : copy.from_offset) += slice.begin * whole_stride;
      // With at most one element the stride is irrelevant and might overflow, so ignore it.
      const std::int64_t stride = slice.count > 1 ? slice.stride * whole_stride : whole_stride;
      copy.add(slice.count, back ? part_stride : stride, back ? stride : part_stride);
    }
    if (found != elements) {
      throw errors::InvalidArgumentError("a slice does not have the shape that the graph expects");
    }
  }
};

/// Finds the shape of the result when it runs.
std::unique_ptr<PreparedKernel> late_strided_slice_kernel(const KernelRequest& request) {
  KernelRequest operands = request;
  operands.outputs.clear();
  check_kernel_rank(operands);
  return function_kernel([slice = SliceOfShape(request, request.inputs[0].shape),
                          dtype = request.inputs[0].dtype,
                          declared = request.outputs[0].shape](const LaunchArgs& args) {
    const Shape part = slice.part(args.inputs);
    void* to = args.output_memory(0, part, declared);
    StridedCopy copy;
    slice.set_copy_dims(args.inputs, part.elements(), false, copy);
    copy.run(dtype, args.inputs[0], to, 0, 1);
  });
}

std::unique_ptr<PreparedKernel> strided_slice_kernel(const KernelRequest& request) {
  const Shape& out = request.outputs[0].shape;
  if (!out.fully_known()) return late_strided_slice_kernel(request);
  return strided_copy_kernel(
      request, 1,
      [slice = SliceOfShape(request, request.inputs[0].shape), elements = out.elements()](
          const void* const* inputs, std::size_t, StridedCopy& copy) {
        slice.set_copy_dims(inputs, elements, false, copy);
      });
}

/// Folds one element of a known vector, as when a size is taken from a shape.
Array strided_slice_constant(const InferenceContext& context, std::span<const OutputSpec> outputs) {
  const Array* vector = context.constant(0);
  const Array* begin = context.constant(1);
  if (vector == nullptr || begin == nullptr || vector->shape().rank() != 1 ||
      vector->dtype() == DType::string || outputs[0].shape != Shape{} || begin->elements() != 1 ||
      context.attrs<StridedSliceAttrs>().shrink_axis_mask != 1) {
    return {};
  }
  std::int64_t at = integers_of(*begin).at(0);
  if (at < 0) at += vector->elements();
  if (at < 0 || at >= vector->elements()) return {};
  Array value(vector->dtype(), Shape{});
  const std::size_t bytes = dtype_size(vector->dtype());
  std::memcpy(value.raw(),
              static_cast<const std::byte*>(vector->raw()) + static_cast<std::size_t>(at) * bytes,
              bytes);
  return value;
}

std::vector<OptionalGradient> strided_slice_gradient(const Operation& op,
                                                     const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor sizes = towerflow::shape(op.input(0), {.out_type = op.input(1).dtype()}, site);
  const Tensor dx = op.graph()
                        .add({.op = "StridedSliceGrad",
                              .name = "StridedSliceGrad",
                              .inputs = {sizes, op.input(1), op.input(2), op.input(3),
                                         dense_gradient(dys[0], site)},
                              .attrs = op.attrs(),
                              .site = site})
                        .output(0);
  return {dx, std::nullopt, std::nullopt, std::nullopt};
}

/// Inputs: sizes, begin, end, strides, dy. Output: zeros of those sizes with dy at the sliced
/// positions.
void strided_slice_grad_shape(InferenceContext& context) {
  check_bounds(context, 1);
  const Array* sizes = context.constant(0);
  const Shape& vector = context.shape(0);
  const bool known = vector.has_rank() && vector.rank() == 1 && vector[0].known();
  if (sizes != nullptr) {
    return context.add_output(context.dtype(4),
                              Shape(std::span<const std::int64_t>(integers_of(*sizes))));
  }
  context.add_output(
      context.dtype(4),
      known ? Shape::of_rank(static_cast<std::size_t>(vector.size(0))) : Shape::unknown());
}

std::unique_ptr<PreparedKernel> strided_slice_grad_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const std::size_t bytes = request.outputs[0].bytes();
  return function_kernel([bytes, slice = SliceOfShape(request, request.outputs[0].shape),
                          part = request.inputs[4]](const LaunchArgs& args) {
    if (bytes == 0) return;
    std::memset(args.outputs[0], 0, bytes);
    StridedCopy copy;
    slice.set_copy_dims(args.inputs, part.shape.elements(), true, copy);
    copy.run(part.dtype, args.inputs[4], args.outputs[0], 0, 1);
  });
}

std::vector<OptionalGradient> strided_slice_grad_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor part =
      op.graph()
          .add({.op = "StridedSlice",
                .name = "strided_slice",
                .inputs = {dense_gradient(dys[0], site), op.input(1), op.input(2), op.input(3)},
                .attrs = op.attrs(),
                .site = site})
          .output(0);
  std::vector<OptionalGradient> dxs(5);
  dxs[4] = part;
  return dxs;
}

}  // namespace

static void register_strided_slice_ops(OpRegistry& registry) {
  registry.add(
      {.name = "StridedSlice",
       .inputs = {"input: T", "begin: Index(Index)", "end: Index(Index)", "strides: Index(Index)"},
       .outputs = {"output: T"},
       .attrs = attributes<StridedSliceAttrs>(),
       .shape = strided_slice_shape,
       .gradient = strided_slice_gradient,
       .constant = strided_slice_constant});
  registry.add({.name = "StridedSliceGrad",
                .inputs = {"shape: Index(Index)", "begin: Index(Index)", "end: Index(Index)",
                           "strides: Index(Index)", "dy: T"},
                .outputs = {"output: T"},
                .attrs = attributes<StridedSliceAttrs>(),
                .shape = strided_slice_grad_shape,
                .gradient = strided_slice_grad_gradient});
}

static void register_strided_slice_kernels(KernelTable& table) {
  table.add(
      {.op = "StridedSlice", .label = "copy", .accepts = {}, .prepare = strided_slice_kernel});
  table.add({.op = "StridedSliceGrad",
             .label = "copy",
             .accepts = {},
             .prepare = strided_slice_grad_kernel});
}

OpFamily strided_slice_family() {
  return {.ops = register_strided_slice_ops, .kernels = register_strided_slice_kernels};
}

template <class>
Tensor strided_slice(const Operand& input, const Operand& begin, const Operand& end,
                     const Operand& strides, StridedSliceOptions options, Site site) {
  return OpBuilder("StridedSlice", options.name, "StridedSlice", site,
                   {&input, &begin, &end, &strides})
      .input(input, "input")
      .index_input(begin, "begin")
      .index_input(end, "end")
      .index_input(strides, "strides")
      .attrs(StridedSliceAttrs{options.begin_mask, options.end_mask, options.ellipsis_mask,
                               options.new_axis_mask, options.shrink_axis_mask})
      .output();
}
template Tensor strided_slice<void>(const Operand&, const Operand&, const Operand&, const Operand&,
                                    StridedSliceOptions, Site);

Tensor strided_slice(const Operand& input, const Operand& begin, const Operand& end,
                     StridedSliceOptions options, Site site) {
  return strided_slice(input, begin, end, ones_like(begin, {}, site), std::move(options), site);
}

}  // namespace towerflow
