#include "ops/array/split.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

struct SplitAttrs {
  std::int64_t num = 0;
  static constexpr auto fields = std::tuple{attr::required("num_split", &SplitAttrs::num)};
};

void add_pieces(InferenceContext& context, DType dtype, std::int64_t num, const Shape& piece) {
  for (std::int64_t i = 0; i < num; ++i) context.add_output(dtype, piece);
}

/// Returns the split dimension given by input `index`; nothing if it is not known yet.
std::optional<std::size_t> split_axis(InferenceContext& context, std::size_t index,
                                      const Shape& value) {
  const Shape& axis = context.shape(index);
  if (axis.has_rank() && axis.rank() != 0) {
    context.fail(
        fmt::format("Input must be scalar but has rank {}: the axis of a split", axis.rank()));
  }
  const Array* known = context.constant(index);
  if (known == nullptr || !value.has_rank()) return std::nullopt;
  const std::int64_t wanted = integers_of(*known)[0];
  const auto at = normalized_axis(wanted, value.rank());
  if (!at) {
    context.fail(fmt::format("Dimension size, given by scalar input {} must be in range [-{}, {})",
                             wanted, value.rank(), value.rank()));
  }
  return at;
}

/// Inputs: axis, value.
void split_shape(InferenceContext& context) {
  const std::int64_t num = context.attrs<SplitAttrs>().num;
  if (num < 1) {
    context.fail(fmt::format("Attr 'num_split' of 'Split' Op passed {} less than minimum 1.", num));
  }
  const Shape& value = context.shape(1);
  const auto axis = split_axis(context, 0, value);
  if (!axis) {
    const Shape piece = value.has_rank() ? Shape::of_rank(value.rank()) : Shape::unknown();
    return add_pieces(context, context.dtype(1), num, piece);
  }
  std::vector<Dim> dims = value.dims();
  if (dims[*axis].known()) {
    if (dims[*axis].size() % num != 0) {
      context.fail(
          fmt::format("Dimension size must be evenly divisible by {} but is {}: number of "
                      "ways to split should evenly divide the split dimension",
                      num, dims[*axis].size()));
    }
    dims[*axis] = Dim(dims[*axis].size() / num);
  }
  add_pieces(context, context.dtype(1), num, Shape(std::move(dims)));
}

/// Returns the sizes with -1 replaced by the rest of `whole`, if that is known.
std::vector<Dim> piece_sizes(InferenceContext& context,
                             const std::vector<std::int64_t>& requested_sizes, Dim whole) {
  std::vector<Dim> sizes;
  std::int64_t sum = 0;
  std::optional<std::size_t> rest;
  for (const std::int64_t size : requested_sizes) {
    if (size == -1) {
      if (rest) context.fail("size_splits can only have one -1");
      rest = sizes.size();
      sizes.emplace_back(std::nullopt);
      continue;
    }
    if (size < 0 || __builtin_add_overflow(sum, size, &sum)) {
      context.fail(fmt::format("size_splits has the entry {}, which is not a size", size));
    }
    sizes.emplace_back(size);
  }
  if (!whole.known()) return sizes;
  if (rest ? sum > whole.size() : sum != whole.size()) {
    context.fail(fmt::format("can't split axis of size {} into pieces of size [{}]", whole.size(),
                             fmt::join(requested_sizes, ",")));
  }
  if (rest) sizes[*rest] = Dim(whole.size() - sum);
  return sizes;
}

/// Inputs: value, sizes, axis.
void split_v_shape(InferenceContext& context) {
  const std::int64_t num = context.attrs<SplitAttrs>().num;
  const Shape& value = context.shape(0);
  const Shape& sizes = context.shape(1);
  if (sizes.has_rank() && (sizes.rank() != 1 || (sizes[0].known() && sizes.size(0) != num))) {
    context.fail(fmt::format("sizes of shape {} for {} pieces of a split", sizes.text(), num));
  }
  const auto axis = split_axis(context, 2, value);
  if (!axis) {
    const Shape piece = num == 1           ? value
                        : value.has_rank() ? Shape::of_rank(value.rank())
                                           : Shape::unknown();
    return add_pieces(context, context.dtype(0), num, piece);
  }
  std::vector<Dim> dims = value.dims();
  const Array* known = context.constant(1);
  if (known == nullptr) {
    dims[*axis] = Dim(std::nullopt);
    return add_pieces(context, context.dtype(0), num, Shape(std::move(dims)));
  }
  for (const Dim size : piece_sizes(context, integers_of(*known), dims[*axis])) {
    std::vector<Dim> piece = dims;
    piece[*axis] = size;
    context.add_output(context.dtype(0), Shape(std::move(piece)));
  }
}

/// Makes a kernel with one copy per piece, out of input `value` along the axis given by input
/// `axis`.
std::unique_ptr<PreparedKernel> pieces_kernel(const KernelRequest& request, std::size_t value,
                                              std::size_t axis) {
  const Shape& in = request.inputs[value].shape;
  const std::size_t at = checked_axis(integers_of(request.values.at(axis))[0], in.rank());
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t d = 0; d < in.rank(); ++d) {
    if (d != at) (d < at ? outer : inner) *= in.size(d);
  }
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> begins;
  std::int64_t begin = 0;
  for (const TensorDesc& piece : request.outputs) {
    sizes.push_back(piece.shape.size(at));
    begins.push_back(begin);
    begin += sizes.back();
  }
  return strided_copy_kernel(request, sizes.size(),
                             [=, whole = in.size(at)](std::size_t part, StridedCopy& copy) {
                               copy.input = static_cast<int>(value);
                               copy.output = static_cast<int>(part);
                               copy.from_offset = begins[part] * inner;
                               copy.add(outer, whole * inner, sizes[part] * inner);
                               copy.add(sizes[part] * inner, 1, 1);
                             });
}

std::unique_ptr<PreparedKernel> split_kernel(const KernelRequest& request) {
  return pieces_kernel(request, 1, 0);
}
std::unique_ptr<PreparedKernel> split_v_kernel(const KernelRequest& request) {
  return pieces_kernel(request, 0, 2);
}

Tensor concat_gradients(const Operation& op, const std::vector<OptionalGradient>& dys,
                        std::size_t axis) {
  std::vector<Operand> pieces;
  for (std::size_t i = 0; i < dys.size(); ++i) {
    pieces.emplace_back(
        dys[i] ? dense_gradient(dys[i], op.site()) : zeros_like(op.output(i), {}, op.site()),
        op.site());
  }
  return concat(OperandList(pieces), Operand(op.input(axis), op.site()), {}, op.site());
}

std::vector<OptionalGradient> split_gradient(const Operation& op,
                                             const std::vector<OptionalGradient>& dys) {
  return {std::nullopt, concat_gradients(op, dys, 0)};
}
std::vector<OptionalGradient> split_v_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  return {concat_gradients(op, dys, 2), std::nullopt, std::nullopt};
}

/// Returns the number of a literal; nothing for lists and tensors.
std::optional<std::int64_t> literal_number(const Operand& operand) {
  if (operand.nested() == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&operand.nested()->value());
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace

static void register_split_ops(OpRegistry& registry) {
  registry.add({.name = "Split",
                .inputs = {"split_dim: int32", "value: T"},
                .outputs = {"output: num_split * T"},
                .attrs = attributes<SplitAttrs>(),
                .shape = split_shape,
                .gradient = split_gradient,
                .static_inputs = {0}});
  registry.add({.name = "SplitV",
                .inputs = {"value: T", "size_splits: Index(Tlen)", "split_dim: int32"},
                .outputs = {"output: num_split * T"},
                .attrs = attributes<SplitAttrs>(),
                .shape = split_v_shape,
                .gradient = split_v_gradient,
                .static_inputs = {1, 2}});
}

static void register_split_kernels(KernelTable& table) {
  table.add({.op = "Split", .label = "copy", .accepts = {}, .prepare = split_kernel});
  table.add({.op = "SplitV", .label = "copy", .accepts = {}, .prepare = split_v_kernel});
}

OpFamily split_family() { return {.ops = register_split_ops, .kernels = register_split_kernels}; }

std::vector<Tensor> split(const Operand& value, const Operand& num_or_size_splits,
                          const ScalarOperand& axis, SplitOptions options, Site site) {
  if (const auto num = literal_number(num_or_size_splits)) {
    OpBuilder builder("Split", options.name, "split", site, {&axis, &value});
    builder.index_input(axis, "split_dim").input(value, "value").attrs(SplitAttrs{*num});
    return builder.build().outputs();
  }
  Graph& graph = graph_of(value, num_or_size_splits);
  const Tensor sizes = convert_operand(graph, num_or_size_splits, "", std::nullopt);
  const Shape& length = sizes.shape();
  if (length.has_rank() && length.rank() == 0) {
    throw ValueError(
        "Rank-0 tensors are not supported as the num_or_size_splits argument to split.",
        {.site = site,
         .op = "SplitV",
         .hint = "a number of pieces is known when the call is made"});
  }
  std::int64_t num = options.num.value_or(-1);
  if (num < 0 && length.has_rank() && length[0].known()) num = length.size(0);
  if (num < 1) {
    throw ValueError(fmt::format("Cannot infer argument `num` from shape {}", length.text()),
                     {.site = site, .op = "SplitV", .hint = "pass {.num = ..}"});
  }
  OpBuilder builder("SplitV", options.name, "split", site, {&value, &num_or_size_splits});
  builder.input(value, "value").index_input(sizes, "size_splits").index_input(axis, "split_dim");
  return builder.attrs(SplitAttrs{num}).build().outputs();
}

}  // namespace towerflow
