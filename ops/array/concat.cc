#include "ops/array/concat.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/shape_of.h"
#include "ops/array/slice.h"
#include "ops/array/view.h"
#include "ops/export_forms.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

void concat_shape(InferenceContext& context) {
  const std::size_t count = context.num_inputs() - 1;
  const DType dtype = context.dtype(0);
  if (context.shape(count).has_rank() && context.shape(count).rank() != 0) {
    context.fail(fmt::format("Shape must be rank 0 but is rank {}: the axis of a concat",
                             context.shape(count).rank()));
  }
  std::optional<std::size_t> rank;
  for (std::size_t i = 0; i < count; ++i) {
    const Shape& shape = context.shape(i);
    if (!shape.has_rank()) continue;
    if (shape.rank() == 0) context.fail("Can't concatenate scalars (use tf::stack instead)");
    if (rank && *rank != shape.rank()) {
      context.fail(fmt::format("Shape must be rank {} but is rank {}: value {} of a concat", *rank,
                               shape.rank(), i));
    }
    rank = shape.rank();
  }
  const Array* axis = context.constant(count);
  if (!rank) return context.add_output(dtype, Shape::unknown());
  if (axis == nullptr) return context.add_output(dtype, Shape::of_rank(*rank));
  const std::int64_t wanted = integers_of(*axis).at(0);
  const auto at = normalized_axis(wanted, *rank);
  if (!at) {
    context.fail(fmt::format("Shape must be at least rank {} but is rank {}: axis {} of a concat",
                             least_rank(wanted), *rank, wanted));
  }
  std::vector<Dim> dims = Shape::of_rank(*rank).dims();
  dims[*at] = Dim(0);
  for (std::size_t i = 0; i < count; ++i) {
    const Shape shape = context.shape(i).has_rank() ? context.shape(i) : Shape::of_rank(*rank);
    for (std::size_t d = 0; d < *rank; ++d) {
      if (d == *at) {
        std::int64_t sum = 0;
        if (dims[d].known() && shape[d].known() &&
            __builtin_add_overflow(dims[d].size(), shape.size(d), &sum)) {
          context.fail(fmt::format("Dimension size overflow from adding {} and {}", dims[d].size(),
                                   shape.size(d)));
        }
        dims[d] = dims[d].known() && shape[d].known() ? Dim(sum) : Dim(std::nullopt);
      } else if (dims[d].known() && shape[d].known() && dims[d] != shape[d]) {
        context.fail(fmt::format(
            "Dimension {} in both shapes must be equal, but are {} and {}: value {} of a concat", d,
            dims[d].size(), shape.size(d), i));
      } else if (shape[d].known()) {
        dims[d] = shape[d];
      }
    }
  }
  context.add_output(dtype, Shape(std::move(dims)));
}

std::unique_ptr<PreparedKernel> concat_kernel(const KernelRequest& request) {
  const std::size_t count = request.inputs.size() - 1;
  const DType axis_dtype = request.inputs[count].dtype;
  const Shape out = request.outputs[0].shape;
  std::vector<Shape> shapes;
  std::vector<std::vector<std::int64_t>> ends(out.rank());  // of each value along each axis
  for (std::size_t i = 0; i < count; ++i) {
    shapes.push_back(request.inputs[i].shape);
    for (std::size_t d = 0; d < out.rank(); ++d) {
      // Along an axis other than the concat axis, large sizes of empty values may overflow.
      std::int64_t end = 0;
      __builtin_add_overflow(i == 0 ? 0 : ends[d].back(), shapes[i].size(d), &end);
      ends[d].push_back(end);
    }
  }
  return strided_copy_kernel(
      request, count, [=](const void* const* inputs, std::size_t part, StridedCopy& copy) {
        const std::size_t axis = checked_axis(integer_at(axis_dtype, inputs[count], 0), out.rank());
        const std::int64_t before = part == 0 ? 0 : ends[axis][part - 1];
        const std::int64_t total = ends[axis].back();
        std::int64_t outer = 1;
        std::int64_t inner = 1;
        for (std::size_t d = 0; d < out.rank(); ++d) {
          if (d != axis && out.size(d) != shapes[part].size(d)) {
            throw errors::InvalidArgumentError("sizes of concatenated values differ");
          }
          (d < axis ? outer : inner) *= d == axis ? 1 : out.size(d);
        }
        if (total != out.size(axis)) {
          throw errors::InvalidArgumentError(
              "the axis of a concat is not the one that the graph expects");
        }
        const std::int64_t chunk = shapes[part].size(axis) * inner;
        copy.input = static_cast<int>(part);
        copy.to_offset = before * inner;
        copy.add(outer, chunk, total * inner);
        copy.add(chunk, 1, 1);
      });
}

/// Returns the offset of each value of a concat, (0, .., sum of the sizes before it, .., 0).
/// Offsets are computed in the run if sizes or the axis are not known before.
std::vector<Tensor> concat_offsets(const Operation& op) {
  const std::size_t count = op.num_inputs() - 1;
  std::vector<Tensor> begins;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Tensor> inputs{op.input(count), op.input(i > 0 ? i - 1 : 0)};
    if (i > 0) inputs.push_back(begins.back());
    const Tensor begin =
        op.graph()
            .add({.op = "ConcatBegin", .name = "begin", .inputs = inputs, .site = op.site()})
            .output(0);
    const Array known = constant_value(begin);
    begins.push_back(known.empty() ? begin : make_constant(op.graph(), known, "offset", op.site()));
  }
  return begins;
}

/// Returns the slices of value `index`: all rows, of each the columns that belong to the value. For
/// an axis after the rows.
IndexedSlices part_of_slices(const Operation& op, std::size_t index, const Tensor& begin,
                             const IndexedSlices& slices) {
  const Site site = op.site();
  const Tensor shape = towerflow::shape(op.input(index), {}, site);
  const Tensor sizes =
      concat({Operand({-1}, site), slice(shape, {1}, {-1}, {}, site)}, 0, {}, site);
  return {slice(slices.values, begin, sizes, {}, site), slices.indices, shape};
}

/// Returns whether the axis is known not to be 0, so that slices of rows stay slices.
bool joins_after_rows(const Operation& op) {
  const Array axis = constant_value(op.input(op.num_inputs() - 1));
  if (axis.empty() || !op.input(0).shape().has_rank()) return false;
  const auto at = normalized_axis(integers_of(axis).at(0), op.input(0).shape().rank());
  return at && *at > 0;
}

std::vector<OptionalGradient> concat_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  std::vector<OptionalGradient> dxs(op.num_inputs());
  if (op.num_inputs() == 2) {  // of a single value: slices stay slices
    dxs[0] = dys[0];
    return dxs;
  }
  const std::vector<Tensor> begins = concat_offsets(op);
  if (!dys[0]->is_dense() && joins_after_rows(op)) {
    for (std::size_t i = 0; i + 1 < op.num_inputs(); ++i) {
      dxs[i] = part_of_slices(op, i, begins[i], dys[0]->slices());
    }
    return dxs;
  }
  const Tensor dy = dense_gradient(dys[0], op.site());
  for (std::size_t i = 0; i + 1 < op.num_inputs(); ++i) {
    dxs[i] = slice(dy, begins[i], towerflow::shape(op.input(i), {}, op.site()), {}, op.site());
  }
  return dxs;
}

/// ConcatBegin: inputs are the axis, a value and the offset at which it begins; the output is the
/// offset of the next value. Without the third input, the output is the offset of the first value.
void begin_shape(InferenceContext& context) {
  const Shape& value = context.shape(1);
  context.add_output(DType::int32, value.has_rank() ? Shape{value.rank()} : Shape{None});
}

Array begin_constant(const InferenceContext& context, std::span<const OutputSpec>) {
  const Array* axis = context.constant(0);
  const Shape& value = context.shape(1);
  if (axis == nullptr || !value.has_rank()) return {};
  const auto at = normalized_axis(integers_of(*axis).at(0), value.rank());
  if (!at) return {};
  Array begin = Array::zeros(DType::int32, Shape{value.rank()});
  if (context.num_inputs() == 2) return begin;
  const Array* before = context.constant(2);
  if (before == nullptr || !value[*at].known()) return {};
  begin.data<std::int32_t>()[*at] =
      before->data<std::int32_t>()[*at] + static_cast<std::int32_t>(value.size(*at));
  return begin;
}

std::unique_ptr<PreparedKernel> begin_kernel(const KernelRequest& request) {
  const std::vector<TensorDesc> inputs = request.inputs;
  return function_kernel([inputs](const LaunchArgs& args) {
    const Shape& value = inputs[1].shape;
    const std::size_t axis =
        checked_axis(integer_at(inputs[0].dtype, args.inputs[0], 0), value.rank());
    std::int32_t* begin = args.output<std::int32_t>(0);
    std::fill_n(begin, value.rank(), 0);
    if (inputs.size() == 2) return;
    begin[axis] = static_cast<const std::int32_t*>(args.inputs[2])[axis] +
                  static_cast<std::int32_t>(value.size(axis));
  });
}

}  // namespace

static void register_concat_ops(OpRegistry& registry) {
  registry.add({.name = "ConcatV2",
                .inputs = {"values: N * T", "axis: Index(Tidx)"},
                .outputs = {"output: T"},
                .shape = concat_shape,
                .gradient = concat_gradient});
  registry.add({.name = "ConcatBegin",
                .inputs = {"axis: Index(Tidx)", "value: T", "before: N * int32"},
                .outputs = {"begin: int32"},
                .shape = begin_shape,
                .gradient = NoGradient{"offsets in a tensor are integers"},
                .constant = begin_constant,
                .export_form = export_forms::concat_begin});
}

static void register_concat_kernels(KernelTable& table) {
  table.add({.op = "ConcatV2", .label = "copy", .accepts = {}, .prepare = concat_kernel});
  table.add({.op = "ConcatBegin", .label = "shape", .accepts = {}, .prepare = begin_kernel});
}

OpFamily concat_family() {
  return {.ops = register_concat_ops, .kernels = register_concat_kernels};
}

Tensor concat(const OperandList& values, const ScalarOperand& axis, ConcatOptions options,
              Site site) {
  const std::string name = options.name.empty() ? "concat" : options.name;
  const Tensor* first = values.any_tensor();
  Graph& graph = first != nullptr ? first->graph() : get_default_graph();
  if (values.size() == 0) {
    throw ValueError(
        "List argument 'values' to 'ConcatV2' Op with length 0 shorter than minimum "
        "length 2.",
        {.site = site, .op = "ConcatV2", .hint = values.why_empty()});
  }
  const NameScope scope(graph, name, site);
  if (values.size() == 1) {
    const Tensor dim = convert_operand(graph, axis, "concat_dim", DType::int32);
    if (dim.shape().has_rank() && dim.shape().rank() != 0) {
      throw ValueError(fmt::format("Shape {} must have rank 0", dim.shape().text()),
                       {.site = site, .op = "ConcatV2"});
    }
    return identity(values.items()[0], {.name = name}, site);
  }
  std::vector<Tensor> inputs = same_dtype_inputs(graph, values, "ConcatV2", "values", site);
  inputs.push_back(index_tensor(graph, axis, "axis", "ConcatV2"));
  return graph.add({.op = "ConcatV2", .name = scope.name(), .inputs = inputs, .site = site})
      .output(0);
}

}  // namespace towerflow
