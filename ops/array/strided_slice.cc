#include "ops/array/strided_slice.h"

#include <fmt/format.h>

#include <optional>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

struct StridedSliceAttrs {
  int begin_mask = 0;
  int end_mask = 0;
  int shrink_axis_mask = 0;
  static constexpr auto fields =
      std::tuple{attr::field("begin_mask", &StridedSliceAttrs::begin_mask),
                 attr::field("end_mask", &StridedSliceAttrs::end_mask),
                 attr::field("shrink_axis_mask", &StridedSliceAttrs::shrink_axis_mask)};
};

/// The elements taken along one dimension; `begin` is non-negative.
struct ResolvedSlice {
  std::int64_t begin = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
  bool shrinks = false;
};

/// Returns what is wrong with a stride, or nullptr.
const char* stride_error(const StridedSliceAttrs& attrs, std::size_t axis, std::int64_t stride) {
  if (stride == 0) return "strides must not be zero";
  const bool shrinks = axis < 31 && (attrs.shrink_axis_mask & (1 << axis)) != 0;
  return shrinks && stride < 0 ? "only stride 1 allowed on non-range indexing." : nullptr;
}

/// Resolves begin, end and stride for a dimension of `size` as Python does, and stores the slice in
/// `picked`. Returns an error message, or nullptr.
const char* resolve_slice(const StridedSliceAttrs& attrs, std::size_t axis, std::int64_t begin,
                          std::int64_t end, std::int64_t stride, std::int64_t size,
                          ResolvedSlice& picked) {
  const int bit = axis < 31 ? 1 << axis : 0;
  if (const char* wrong = stride_error(attrs, axis, stride)) return wrong;
  if (attrs.shrink_axis_mask & bit) {
    const std::int64_t at = begin < 0 ? begin + size : begin;
    if (at < 0 || at >= size) return "slice index is out of bounds";
    picked = {at, 1, 1, true};
    return nullptr;
  }
  const bool up = stride > 0;
  const auto place = [&](std::int64_t value) {
    if (value < 0) value += size;
    return std::clamp<std::int64_t>(value, up ? 0 : -1, up ? size : size - 1);
  };
  const std::int64_t first = attrs.begin_mask & bit ? (up ? 0 : size - 1) : place(begin);
  const std::int64_t last = attrs.end_mask & bit ? (up ? size : -1) : place(end);
  const std::int64_t span = up ? last - first : first - last;
  const auto step = up ? static_cast<std::uint64_t>(stride)
                       : std::uint64_t{0} - static_cast<std::uint64_t>(stride);
  const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(span, 0));
  picked = {first, stride, static_cast<std::int64_t>(whole / step + (whole % step != 0)), false};
  return nullptr;
}

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

/// Returns the size of dimension `axis` after slicing; nothing if the dimension is removed.
std::optional<Dim> sliced_dim(InferenceContext& context, std::size_t axis, const Bounds& bounds,
                              std::int64_t stride) {
  const auto& attrs = context.attrs<StridedSliceAttrs>();
  const Dim size = context.shape(0)[axis];
  const int bit = axis < 31 ? 1 << axis : 0;
  const bool shrinks = (attrs.shrink_axis_mask & bit) != 0;
  // TensorFlow checks the sign only if it knows the size.
  const char* wrong = stride == 0 || size.known() ? stride_error(attrs, axis, stride) : nullptr;
  const bool whole = (attrs.begin_mask & attrs.end_mask & bit) != 0;
  const bool placed = size.known() && (bounds || (whole && !shrinks));
  const std::int64_t begin = bounds ? bounds->first[axis] : 0;
  const std::int64_t end = bounds ? bounds->second[axis] : 0;
  ResolvedSlice picked;
  if (wrong == nullptr && placed) {
    wrong = resolve_slice(attrs, axis, begin, end, stride, size.size(), picked);
  }
  if (wrong != nullptr) {
    context.fail(fmt::format("{}: dimension {} of {}{} by {}", wrong, axis, context.shape(0).text(),
                             bounds ? fmt::format(", from {} to {}", begin, end) : "", stride));
  }
  if (shrinks) return std::nullopt;
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
  if (strides.size() > input.rank()) {
    context.fail(fmt::format("Index out of range using input dim {}; input has only {} dims",
                             input.rank(), input.rank()));
  }
  Bounds bounds;
  const Array *begin = context.constant(1), *end = context.constant(2);
  if (begin != nullptr && end != nullptr) bounds.emplace(integers_of(*begin), integers_of(*end));
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    if (i >= strides.size()) {
      dims.push_back(input[i]);
    } else if (const auto left = sliced_dim(context, i, bounds, strides[i])) {
      dims.push_back(*left);
    }
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

/// Reads begin, end and strides at inputs[first ..] and sets the dimensions of `copy`: from `whole`
/// to `part`, or with `back` from `part` into `whole`.
void set_copy_dims(const StridedSliceAttrs& attrs, const Shape& whole, const Shape& part,
                   const std::vector<TensorDesc>& descs, const void* const* inputs,
                   std::size_t first, bool back, StridedCopy& copy) {
  const std::int64_t given = descs[first].shape.elements();
  std::int64_t elements = 1;
  std::int64_t part_stride = part.elements();
  std::int64_t whole_stride = whole.elements();
  for (std::size_t i = 0; i < whole.rank(); ++i) {
    const std::int64_t size = whole.size(i);
    whole_stride = size == 0 ? 0 : whole_stride / size;
    ResolvedSlice picked{0, 1, size, false};
    const auto at = static_cast<std::int64_t>(i);
    if (at < given) {
      const auto value = [&](std::size_t k) {
        return integer_at(descs[first + k].dtype, inputs[first + k], at);
      };
      const char* wrong = resolve_slice(attrs, i, value(0), value(1), value(2), size, picked);
      if (wrong != nullptr) throw errors::InvalidArgumentError(wrong);
    }
    elements *= picked.count;
    part_stride = picked.count == 0 ? 0 : part_stride / picked.count;
    (back ? copy.to_offset : copy.from_offset) += picked.begin * whole_stride;
    // With at most one element the stride is irrelevant and might overflow, so ignore it.
    const std::int64_t stride = picked.count > 1 ? picked.stride * whole_stride : whole_stride;
    copy.add(picked.count, back ? part_stride : stride, back ? stride : part_stride);
  }
  if (elements != part.elements()) {
    throw errors::InvalidArgumentError("a slice does not have the shape that the graph expects");
  }
}

std::unique_ptr<PreparedKernel> strided_slice_kernel(const KernelRequest& request) {
  const auto attrs = request.attributes<StridedSliceAttrs>();
  const std::vector<TensorDesc> descs = request.inputs;
  const Shape out = request.outputs[0].shape;
  if (!out.fully_known()) {
    throw errors::UnimplementedError(
        "the sizes of a slice must not depend on values that are known only at run time");
  }
  return strided_copy_kernel(
      request, 1, [=](const void* const* inputs, std::size_t, StridedCopy& copy) {
        set_copy_dims(attrs, descs[0].shape, out, descs, inputs, 1, false, copy);
      });
}

/// Folds one element of a known vector, as when a size is taken from a shape.
Array strided_slice_constant(const InferenceContext& context, std::span<const OutputSpec> outputs) {
  const Array* vector = context.constant(0);
  const Array* begin = context.constant(1);
  if (vector == nullptr || begin == nullptr || vector->shape().rank() != 1 ||
      vector->dtype() == DType::string || outputs[0].shape != Shape{} ||
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
  const Tensor sizes = towerflow::shape(op.input(0), {}, site);
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
  const auto attrs = request.attributes<StridedSliceAttrs>();
  const std::vector<TensorDesc> descs = request.inputs;
  const Shape out = request.outputs[0].shape;
  const std::size_t bytes = request.outputs[0].bytes();
  return function_kernel([=](const LaunchArgs& args) {
    if (bytes == 0) return;
    std::memset(args.outputs[0], 0, bytes);
    StridedCopy copy;
    set_copy_dims(attrs, out, descs[4].shape, descs, args.inputs, 1, true, copy);
    copy.run(descs[4].dtype, args.inputs[4], args.outputs[0], 0, 1);
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

AttrsDef strided_slice_attributes() {
  return attributes<StridedSliceAttrs>().fixed("ellipsis_mask", 0).fixed("new_axis_mask", 0);
}

}  // namespace

static void register_strided_slice_ops(OpRegistry& registry) {
  registry.add(
      {.name = "StridedSlice",
       .inputs = {"input: T", "begin: Index(Index)", "end: Index(Index)", "strides: Index(Index)"},
       .outputs = {"output: T"},
       .attrs = strided_slice_attributes(),
       .shape = strided_slice_shape,
       .gradient = strided_slice_gradient,
       .constant = strided_slice_constant});
  registry.add({.name = "StridedSliceGrad",
                .inputs = {"shape: Index(Index)", "begin: Index(Index)", "end: Index(Index)",
                           "strides: Index(Index)", "dy: T"},
                .outputs = {"output: T"},
                .attrs = strided_slice_attributes(),
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
      .attrs(StridedSliceAttrs{options.begin_mask, options.end_mask, options.shrink_axis_mask})
      .output();
}
template Tensor strided_slice<void>(const Operand&, const Operand&, const Operand&, const Operand&,
                                    StridedSliceOptions, Site);

Tensor strided_slice(const Operand& input, const Operand& begin, const Operand& end,
                     StridedSliceOptions options, Site site) {
  return strided_slice(input, begin, end, ones_like(begin, {}, site), std::move(options), site);
}

namespace {

/// Adds the nodes of Python's x[..]: three constants named "stack" and the slice.
Tensor sliced(const Tensor& input, std::int64_t begin, std::int64_t end, StridedSliceAttrs attrs,
              Site site) {
  const Operand operand(input, site);
  const Operand from(std::vector<std::int64_t>{begin}, site);
  const Operand to(std::vector<std::int64_t>{end}, site);
  const Operand stride(std::vector<int>{1}, site);
  return OpBuilder("StridedSlice", "", "strided_slice", site, {&operand})
      .input(operand, "input")
      .index_input(from, "stack")
      .index_input(to, "stack")
      .index_input(stride, "stack")
      .attrs(attrs)
      .output();
}

}  // namespace

Tensor take_index(const Tensor& input, int index, Site site) {
  return sliced(input, index, index == -1 ? 0 : std::int64_t{index} + 1, {0, 0, 1}, site);
}

Tensor take_range(const Tensor& input, std::optional<int> begin, std::optional<int> end,
                  Site site) {
  return sliced(input, begin.value_or(0), end.value_or(0), {begin ? 0 : 1, end ? 0 : 1, 0}, site);
}

}  // namespace towerflow
