#include "ops/array/gather.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/gather_attrs.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/export_forms.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/math/segment.h"

namespace towerflow {
namespace {

/// Returns the number of batch dimensions; a node made without attributes has none.
std::int64_t given_batch_dims(const Attrs& attrs) {
  return attrs.empty() ? 0 : attrs.as<GatherAttrs>().batch_dims;
}

std::string wrong_index(DType dtype) {
  return fmt::format(
      "Value passed to parameter 'indices' has DataType {} not in list of allowed "
      "values: int32, int64",
      dtype_name(dtype));
}

void check_indices(InferenceContext& context) {
  if (!is_index(context.dtype(1))) context.fail_type(wrong_index(context.dtype(1)));
}

/// Returns the number of batch dimensions, which precede `axis`.
std::size_t checked_batch_dims(const InferenceContext& context, std::size_t axis) {
  const std::int64_t given = given_batch_dims(context.all_attrs());
  const auto most = static_cast<std::int64_t>(context.shape(1).rank());
  const std::int64_t batch = given < 0 ? given + most : given;
  if (batch < 0 || batch > most || batch > static_cast<std::int64_t>(axis)) {
    context.fail(
        fmt::format("batch_dims of {}, but the indices have {} dimensions, and at most "
                    "the {} before the axis can be batch dimensions",
                    given, most, axis));
  }
  return static_cast<std::size_t>(batch);
}

void gather_shape(InferenceContext& context) {
  check_indices(context);
  const Shape& params = context.shape(0);
  const Shape& indices = context.shape(1);
  const DType dtype = context.dtype(0);
  if (context.shape(2).has_rank() && context.shape(2).rank() != 0) {
    context.fail("Shape must be rank 0: the axis of a gather");
  }
  if (params.has_rank() && params.rank() == 0) {
    context.fail("Shape must be at least rank 1 but is rank 0: what is gathered from");
  }
  const Array* axis = context.constant(2);
  if (!params.has_rank() || !indices.has_rank()) return context.add_output(dtype, Shape::unknown());
  if (axis == nullptr) {
    const std::int64_t given = given_batch_dims(context.all_attrs());
    if (given != 0) return context.add_output(dtype, Shape::unknown());
    return context.add_output(dtype, Shape::of_rank(params.rank() - 1 + indices.rank()));
  }
  const std::int64_t wanted = integers_of(*axis).at(0);
  const auto at = normalized_axis(wanted, params.rank());
  if (!at) {
    context.fail(fmt::format("Shape must be at least rank {} but is rank {}: axis {} of a gather",
                             least_rank(wanted), params.rank(), wanted));
  }
  const std::size_t batch = checked_batch_dims(context, *at);
  const auto middle = params.dims().begin() + static_cast<std::ptrdiff_t>(*at);
  std::vector<Dim> dims(params.dims().begin(), middle);
  for (std::size_t i = 0; i < batch; ++i) {
    if (!Shape{params[i]}.compatible(Shape{indices[i]})) {
      context.fail(fmt::format("the batch dimensions of params {} and indices {} differ",
                               params.text(), indices.text()));
    }
  }
  dims.insert(dims.end(), indices.dims().begin() + static_cast<std::ptrdiff_t>(batch),
              indices.dims().end());
  dims.insert(dims.end(), middle + 1, params.dims().end());
  context.add_output(dtype, Shape(std::move(dims)));
}

/// Copies slices. With `zero_outside`, an index out of range gives zeros instead of an error.
class GatherKernel final : public CpuKernel {
 public:
  GatherKernel(const KernelRequest& request, bool zero_outside)
      : params_(request.inputs[0].shape),
        dtype_(request.inputs[0].dtype),
        index_dtype_(request.inputs[1].dtype),
        axis_dtype_(request.inputs.size() > 2 ? request.inputs[2].dtype : DType::invalid),
        count_(request.inputs[1].shape.elements()),
        elements_(request.outputs[0].shape.elements()),
        zero_outside_(zero_outside) {
    const Shape& indices = request.inputs[1].shape;
    std::int64_t given = zero_outside ? 0 : given_batch_dims(*request.attrs);
    if (given < 0) given += static_cast<std::int64_t>(indices.rank());
    batch_dims_ = static_cast<std::size_t>(given);
    for (std::size_t i = 0; i < batch_dims_; ++i) {
      if (indices.size(i) != params_.size(i)) {
        throw errors::InvalidArgumentError(
            fmt::format("the batch dimensions of params {} and indices {} differ", params_.text(),
                        indices.text()));
      }
      batch_ *= indices.size(i);
    }
    if (batch_ > 0) count_ /= batch_;
  }
  int slices(int) const override { return loop_slices(elements_); }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const std::size_t axis =
        axis_dtype_ == DType::invalid
            ? 0
            : checked_axis(integer_at(axis_dtype_, inputs[2], 0), params_.rank());
    std::int64_t outer = 1;  // those of the batch included
    std::int64_t inner = 1;
    for (std::size_t i = 0; i < params_.rank(); ++i) {
      if (i != axis) (i < axis ? outer : inner) *= params_.size(i);
    }
    if (outer * count_ * inner != elements_ || axis < batch_dims_) {
      throw errors::InvalidArgumentError(
          "the axis of a gather is not the one that the graph expects");
    }
    const SliceRange part = slice_range(outer * count_, slices(0), slice);
    dispatch_copyable(dtype_, [&]<class T>() {
      const T* from = static_cast<const T*>(inputs[0]);
      T* to = static_cast<T*>(outputs[0]);
      const std::int64_t rows_of_batch = part.size() > 0 ? outer / batch_ * count_ : 1;
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        const std::int64_t place = i / rows_of_batch * count_ + i % count_;
        const std::int64_t index = integer_at(index_dtype_, inputs[1], place);
        const std::int64_t n = params_.size(axis);
        if (index < 0 || index >= n) {
          if (!zero_outside_) {
            throw errors::InvalidArgumentError(
                fmt::format("indices[{}] = {} is not in [0, {})", place, index, n));
          }
          std::fill_n(to + i * inner, inner, T());
          continue;
        }
        std::copy_n(from + (i / count_ * n + index) * inner, inner, to + i * inner);
      }
    });
  }

 private:
  Shape params_;
  DType dtype_;
  DType index_dtype_;
  DType axis_dtype_;
  std::int64_t count_;  ///< indices, in each part of the batch
  std::int64_t elements_;
  bool zero_outside_;
  std::size_t batch_dims_ = 0;
  std::int64_t batch_ = 1;
};

/// Returns slices with values [n, d1, ..] from dy [i0, .., d1, ..] and indices [n].
std::vector<OptionalGradient> slices_gradient(const Operation& op, const Tensor& dy) {
  const Site site = op.site();
  const Tensor params = op.input(0);
  const Shape& shape = params.shape();
  const Tensor dense_shape = towerflow::shape(params, {}, site);
  const Tensor indices = reshape(op.input(1), {-1}, {}, site);
  Tensor values;
  if (shape.fully_known() && dy.shape().fully_known()) {
    std::vector<std::int64_t> sizes = shape.sizes();
    sizes[0] = op.input(1).shape().elements();
    values = reshape(dy, index_constant(op.graph(), sizes, "shape", site), {}, site);
  } else {
    const Tensor sizes = op.graph()
                             .add({.op = "GatheredShape",
                                   .name = "GatheredShape",
                                   .inputs = {dense_shape, indices},
                                   .site = site})
                             .output(0);
    values = reshape(dy, sizes, {}, site);
    if (shape.has_rank()) {  // what the sizes leave open is only the number of rows
      std::vector<Dim> dims = shape.dims();
      dims[0] = indices.shape()[0];
      values.set_shape(Shape(std::move(dims)));
    }
  }
  return {Gradient(IndexedSlices{values, indices, dense_shape}), std::nullopt, std::nullopt};
}

/// Gradient along an axis other than the first: moves the axis to the front, sums rows by index,
/// and moves it back.
std::vector<OptionalGradient> dense_gather_gradient(const Operation& op, const Tensor& dy,
                                                    std::int64_t axis) {
  const Site site = op.site();
  const Shape& params = op.input(0).shape();
  const Shape& indices = op.input(1).shape();
  const auto at = normalized_axis(axis, params.rank());
  const auto a = static_cast<int>(*at);
  const auto middle = static_cast<int>(indices.rank());
  const auto rank = static_cast<int>(op.output(0).shape().rank());
  std::vector<int> front;
  for (int i = 0; i < middle; ++i) front.push_back(a + i);
  for (int i = 0; i < a; ++i) front.push_back(i);
  for (int i = a + middle; i < rank; ++i) front.push_back(i);
  std::vector<int> back;
  for (int i = 1; i <= a; ++i) back.push_back(i);
  back.push_back(0);
  for (int i = a + 1; i < static_cast<int>(params.rank()); ++i) back.push_back(i);
  const Tensor rows = transpose(dy, front, {}, site);
  const Operand size = params[*at].known()
                           ? Operand(params.size(*at), site)
                           : Operand(take_index(shape(op.input(0), {}, site), a, site), site);
  const Tensor sums = unsorted_segment_sum(rows, op.input(1), size, {}, site);
  Tensor dx = transpose(sums, back, {}, site);
  dx.set_shape(params, site);
  return {dx, std::nullopt, std::nullopt};
}

/// Returns the product of some sizes, a vector that may be empty.
Tensor product_of(const Tensor& sizes, int begin, std::optional<int> end, Site site) {
  return reduce_prod(take_range(sizes, begin, end, site), {}, site);
}

/// Gradient with batch dimensions or of unknown ranks: all tensors become [batch, outer, n or
/// indices, inner], of which the third is moved behind the first and joined with it, so that rows
/// are summed by index.
std::vector<OptionalGradient> batch_gather_gradient(const Operation& op, const Tensor& dy,
                                                    std::int64_t axis) {
  const Site site = op.site();
  const Shape& params = op.input(0).shape();
  const Shape& indices = op.input(1).shape();
  std::int64_t given = given_batch_dims(op.attrs());
  if (given < 0 && !indices.has_rank()) {
    throw ValueError("the gradient of a gather with negative batch_dims needs the rank of indices",
                     {.site = site, .node = op.name(), .op = op.type()});
  }
  if (given < 0) given += static_cast<std::int64_t>(indices.rank());
  const auto a = static_cast<int>(
      params.has_rank() ? static_cast<std::int64_t>(*normalized_axis(axis, params.rank())) : axis);
  const auto b = static_cast<int>(given);
  const DType dtype = op.input(1).dtype();
  const Tensor sizes = towerflow::shape(op.input(0), {.out_type = dtype}, site);
  const Tensor index_sizes = towerflow::shape(op.input(1), {.out_type = dtype}, site);
  const Tensor batch = product_of(sizes, 0, b, site);
  const Tensor outer = product_of(sizes, b, a, site);
  const Tensor n = take_index(sizes, a, site);
  const Tensor from_axis = take_range(sizes, a, std::nullopt, site);
  const Tensor inner = product_of(from_axis, 1, std::nullopt, site);
  const Tensor count = product_of(index_sizes, b, std::nullopt, site);
  const Tensor parts = reshape(dy, stack({batch, outer, count, inner}, {}, site), {}, site);
  const Tensor moved = transpose(parts, {0, 2, 1, 3}, {}, site);
  const Tensor joined = multiply(batch, count, {}, site);
  const Tensor rows = reshape(moved, stack({joined, outer, inner}, {}, site), {}, site);
  const Tensor total = multiply(batch, n, {}, site);
  const Tensor zero = subtract(total, total, {}, site);
  const Tensor one = add(zero, 1, {}, site);
  const Tensor numbers = range(zero, batch, one, {}, site);
  const Tensor starts = expand_dims(multiply(numbers, n, {}, site), -1, {}, site);
  const Tensor table = reshape(op.input(1), stack({batch, count}, {}, site), {}, site);
  const Tensor ids = reshape(add(table, starts, {}, site), {-1}, {}, site);
  const Tensor sums = unsorted_segment_sum(rows, ids, total, {}, site);
  const Tensor made = reshape(sums, stack({batch, n, outer, inner}, {}, site), {}, site);
  const Tensor back = transpose(made, {0, 2, 1, 3}, {}, site);
  Tensor dx = reshape(back, sizes, {}, site);
  dx.set_shape(params, site);
  return {dx, std::nullopt, std::nullopt};
}

std::vector<OptionalGradient> gather_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Array axis = constant_value(op.input(2));
  if (axis.empty()) {  // only in imported graphs: tf::gather takes the axis as a number
    throw ValueError("the gradient of a gather needs an axis that is known before the run",
                     {.site = op.site(), .node = op.name(), .op = op.type()});
  }
  const std::int64_t at = integers_of(axis).at(0);
  const Shape& params = op.input(0).shape();
  if (given_batch_dims(op.attrs()) != 0) return batch_gather_gradient(op, dy, at);
  if (at == 0) {
    return slices_gradient(op, dy);
  }
  if (!params.has_rank() || !op.input(1).shape().has_rank()) {
    return batch_gather_gradient(op, dy, at);
  }
  return dense_gather_gradient(op, dy, at);
}

std::vector<OptionalGradient> gather_or_zero_gradient(const Operation& op,
                                                      const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor params = op.input(0);
  const Site site = op.site();
  const Array sizes = constant_value(towerflow::shape(params, {}, site));
  const Operand rows = sizes.empty()
                           ? Operand(take_index(towerflow::shape(params, {}, site), 0, site), site)
                           : Operand(integers_of(sizes).at(0), site);
  const Tensor dx = unsorted_segment_sum(dy, op.input(1), rows, {}, site);
  Tensor(dx).set_shape(params.shape(), site);
  return {dx, std::nullopt};
}

void gather_or_zero_shape(InferenceContext& context) {
  check_indices(context);
  const Shape& params = context.shape(0);
  const Shape& ids = context.shape(1);
  if (!params.has_rank() || !ids.has_rank()) {
    return context.add_output(context.dtype(0), Shape::unknown());
  }
  if (params.rank() == 0) context.fail("rows of a scalar");
  std::vector<Dim> dims = ids.dims();
  dims.insert(dims.end(), params.dims().begin() + 1, params.dims().end());
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

/// Input: sizes of params and flat indices. Output: the shape of the values of its gradient slices.
std::unique_ptr<PreparedKernel> gathered_shape_kernel(const KernelRequest& request) {
  const std::int64_t rank = request.inputs[0].shape.elements();
  const std::int64_t count = request.inputs[1].shape.elements();
  return function_kernel(
      [rank, count](const LaunchArgs& args) {
        std::copy_n(args.input<std::int32_t>(0), rank, args.output<std::int32_t>(0));
        if (rank > 0) args.output<std::int32_t>(0)[0] = static_cast<std::int32_t>(count);
      },
      {.may_fail = false});
}

Array gathered_shape_constant(const InferenceContext& context, std::span<const OutputSpec>) {
  const Array* sizes = context.constant(0);
  if (sizes == nullptr || !context.shape(1).fully_known() || sizes->elements() == 0) return {};
  Array result = sizes->copy();
  result.data<std::int32_t>()[0] = static_cast<std::int32_t>(context.shape(1).elements());
  return result;
}

}  // namespace

static void register_gather_ops(OpRegistry& registry) {
  registry.add({.name = "GatherV2",
                .inputs = {"params: Tparams", "indices: Index(Tindices)", "axis: Index(Taxis)"},
                .outputs = {"output: Tparams"},
                .attrs = attributes<GatherAttrs>(),
                .shape = gather_shape,
                .gradient = gather_gradient});
  registry.add({.name = "GatherOrZero",
                .inputs = {"params: T", "indices: Index(Tindices)"},
                .outputs = {"output: T"},
                .shape = gather_or_zero_shape,
                .gradient = gather_or_zero_gradient,
                .export_form = export_forms::gather_or_zero});
  registry.add({.name = "GatheredShape",
                .inputs = {"params_shape: int32", "indices: Index(Tindices)"},
                .outputs = {"shape: int32"},
                .shape = [](InferenceContext& c) { c.add_output(DType::int32, c.shape(0)); },
                .gradient = NoGradient{"shapes are integers"},
                .constant = gathered_shape_constant,
                .export_form = export_forms::gathered_shape});
}

static void register_gather_kernels(KernelTable& table) {
  table.add({.op = "GatherV2",
             .label = "copy",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               check_kernel_rank(request);
               return sliced_kernel(std::make_unique<GatherKernel>(request, false));
             }});
  table.add({.op = "GatherOrZero",
             .label = "copy",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               check_kernel_rank(request);
               return sliced_kernel(std::make_unique<GatherKernel>(request, true));
             }});
  table.add(
      {.op = "GatheredShape", .label = "shape", .accepts = {}, .prepare = gathered_shape_kernel});
}

OpFamily gather_family() {
  return {.ops = register_gather_ops, .kernels = register_gather_kernels};
}

Tensor gather(const Operand& params, const Operand& indices, GatherOptions options, Site site) {
  OpBuilder builder("GatherV2", options.name, site, {&params, &indices});
  builder.input(params, "params").input(indices, "indices");
  const DType dtype = builder.tensors()[1].dtype();
  if (!is_index(dtype)) throw TypeError(wrong_index(dtype), {.site = site, .op = "GatherV2"});
  const int axis = options.axis.value_or(options.batch_dims);
  const int batch_dims = axis == 0 ? 0 : options.batch_dims;  // TensorFlow ignores them then, too
  return builder.index_input(axis, "axis").attrs(GatherAttrs{batch_dims}).output();
}

}  // namespace towerflow
