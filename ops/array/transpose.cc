#include "ops/array/transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/family.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

void transpose_shape(InferenceContext& context) {
  const Shape& a = context.shape(0);
  const Shape& perm = context.shape(1);
  if (!a.has_rank()) {
    const Dim length = perm.has_rank() ? Dim(product(perm.dims()).value_or(-1)) : Dim(std::nullopt);
    // One number is the permutation of a vector and, in TensorFlow, of a scalar too.
    if (!length.known() || length.size() < 2) {
      return context.add_output(context.dtype(0), Shape::unknown());
    }
  }
  if (perm.has_rank() && perm.rank() != 1) {
    context.fail(fmt::format("Shape must be rank 1 but is rank {}: a permutation", perm.rank()));
  }
  const std::size_t rank = a.has_rank() ? a.rank() : static_cast<std::size_t>(perm.size(0));
  if (perm.has_rank() && perm[0].known() && static_cast<std::size_t>(perm.size(0)) != rank) {
    context.fail(fmt::format("Dimension must be {} but is {}: the length of a permutation", rank,
                             perm.size(0)));
  }
  const Array* order = context.constant(1);
  if (order == nullptr) return context.add_output(context.dtype(0), Shape::of_rank(rank));
  std::vector<Dim> dims;
  for (const std::int64_t axis : integers_of(*order)) {
    const auto from = normalized_axis(axis, rank);
    if (!from) {
      context.fail(fmt::format("perm dim {} is out of range of input rank {}", axis, rank));
    }
    dims.push_back(a.has_rank() ? a[*from] : Dim(std::nullopt));
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

std::unique_ptr<PreparedKernel> transpose_kernel(const KernelRequest& request) {
  const Shape in = request.inputs[0].shape;
  const Shape out = request.outputs[0].shape;
  const DType dtype = request.inputs[1].dtype;
  const std::vector<std::int64_t> from = dense_strides(in);
  const std::vector<std::int64_t> to = dense_strides(out);
  return strided_copy_kernel(
      request, 1, [=](const void* const* inputs, std::size_t, StridedCopy& copy) {
        bool taken[kMaxKernelRank] = {};
        for (std::size_t i = 0; i < out.rank(); ++i) {
          const std::int64_t axis = integer_at(dtype, inputs[1], static_cast<std::int64_t>(i));
          const std::size_t source = checked_axis(axis, in.rank());
          if (taken[source]) {
            throw errors::InvalidArgumentError(
                fmt::format("axis {} occurs twice in the permutation of a transpose", source));
          }
          taken[source] = true;
          if (in.size(source) != out.size(i)) {
            throw errors::InvalidArgumentError(
                "a transpose does not have the shape that the graph expects");
          }
          copy.add(out.size(i), from[source], to[i]);
        }
      });
}

void invert_shape(InferenceContext& context) {
  const Shape& x = context.shape(0);
  if (!is_index(context.dtype(0))) {
    context.fail_type(
        fmt::format("Value passed to parameter 'x' has DataType {} not in list of "
                    "allowed values: int32, int64",
                    dtype_name(context.dtype(0))));
  }
  if (x.has_rank() && x.rank() != 1) {
    context.fail(fmt::format("Shape must be rank 1 but is rank {}: a permutation", x.rank()));
  }
  context.add_output(context.dtype(0), x.has_rank() ? x : Shape{None});
}

template <class T>
void invert_permutation_of(const T* x, T* y, std::int64_t count) {
  std::fill_n(y, count, T(-1));
  for (std::int64_t i = 0; i < count; ++i) {
    if (x[i] < 0 || x[i] >= count) {
      throw errors::InvalidArgumentError(
          fmt::format("{} is not between 0 and {}: element {} of a permutation", x[i], count, i));
    }
    if (y[x[i]] != T(-1)) {
      throw errors::InvalidArgumentError(
          fmt::format("{} is duplicated in the input: element {} of a permutation", x[i], i));
    }
    y[x[i]] = static_cast<T>(i);
  }
}

std::unique_ptr<PreparedKernel> invert_kernel(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  if (shape.rank() != 1) {
    throw errors::InvalidArgumentError(
        fmt::format("invert_permutation expects a 1D vector, not shape {}", shape.text()));
  }
  const DType dtype = request.inputs[0].dtype;
  const std::int64_t count = shape.elements();
  return function_kernel([dtype, count](const LaunchArgs& args) {
    if (dtype == DType::int32)
      invert_permutation_of(args.input<std::int32_t>(0), args.output<std::int32_t>(0), count);
    else
      invert_permutation_of(args.input<std::int64_t>(0), args.output<std::int64_t>(0), count);
  });
}

std::vector<OptionalGradient> transpose_gradient(const Operation& op,
                                                 const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Array perm = constant_value(op.input(1));
  if (!perm.empty()) {
    const std::vector<std::int64_t> order = integers_of(perm);
    std::vector<std::int64_t> inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      inverse[*normalized_axis(order[i], order.size())] = static_cast<std::int64_t>(i);
    }
    return {transpose(dy, index_constant(op.graph(), inverse, "perm", site), {}, site),
            std::nullopt};
  }
  const Tensor inverse = op.graph()
                             .add({.op = "InvertPermutation",
                                   .name = "InvertPermutation",
                                   .inputs = {op.input(1)},
                                   .site = site})
                             .output(0);
  return {transpose(dy, inverse, {}, site), std::nullopt};
}

}  // namespace

static void register_transpose_ops(OpRegistry& registry) {
  registry.add({.name = "Transpose",
                .inputs = {"x: T", "perm: Index(Tperm)"},
                .outputs = {"y: T"},
                .shape = transpose_shape,
                .gradient = transpose_gradient});
  registry.add({.name = "InvertPermutation",
                .inputs = {"x: Index(T)"},
                .outputs = {"y: T"},
                .shape = invert_shape,
                .gradient = NoGradient{"a permutation consists of integers"}});
}

static void register_transpose_kernels(KernelTable& table) {
  table.add({.op = "Transpose", .label = "copy", .accepts = {}, .prepare = transpose_kernel});
  table.add({.op = "InvertPermutation", .label = "loop", .accepts = {}, .prepare = invert_kernel});
}

OpFamily transpose_family() {
  return {.ops = register_transpose_ops, .kernels = register_transpose_kernels};
}

template <class>
Tensor transpose(const Operand& a, const Operand& perm, TransposeOptions options, Site site) {
  return OpBuilder("Transpose", options.name, "transpose", site, {&a, &perm})
      .input(a, a.slices() != nullptr ? "x" : "a")  // the op itself converts slices, as "x"
      .index_input(perm, "perm")
      .output();
}
template Tensor transpose<void>(const Operand&, const Operand&, TransposeOptions, Site);

Tensor transpose(const Operand& a, TransposeOptions options, Site site) {
  OpBuilder builder("Transpose", options.name, "transpose", site, {&a});
  builder.input(a, a.slices() != nullptr ? "x" : "a");  // the op itself converts slices, as "x"
  const Tensor tensor = builder.tensors()[0];
  const Shape& shape = tensor.shape();
  if (shape.has_rank()) {
    std::vector<int> order;
    for (std::size_t i = shape.rank(); i-- > 0;) order.push_back(static_cast<int>(i));
    return builder.index_input(Array::of(Shape{order.size()}, order), "perm").output();
  }
  const Tensor last = rank(tensor, {}, site) - 1;
  return builder.index_input(range(last, -1, -1, {.name = "Range"}, site), "perm").output();
}

Tensor matrix_transpose(const Operand& a, MatrixTransposeOptions options, Site site) {
  Graph& graph = graph_of(a);
  const NameScope scope(graph, options.name.empty() ? "matrix_transpose" : options.name, site);
  const Tensor matrices = convert_operand(graph, a, "a", std::nullopt);
  const Shape& shape = matrices.shape();
  if (!shape.has_rank()) {
    const Tensor dimensions = rank(matrices, {}, site);
    const Operand count(dimensions, site);
    const Tensor end = count - 2;
    const Tensor batch = range(0, end, 1, {.name = "Range"}, site);
    const Tensor columns = count - 1;
    const Tensor rows = count - 2;
    const Operand exchanged(std::vector<Tensor>{columns, rows}, site);
    return transpose(matrices, concat({batch, exchanged}, 0, {}, site), {}, site);
  }
  if (shape.rank() < 2) {
    throw ValueError(fmt::format("Argument `a` should be a (batch) matrix with rank >= 2, but has "
                                 "shape {}",
                                 shape.text()),
                     {.site = site, .op = "matrix_transpose"});
  }
  std::vector<int> order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  return transpose(matrices, order, {}, site);
}

Tensor invert_permutation(const Operand& x, InvertPermutationOptions options, Site site) {
  return OpBuilder("InvertPermutation", options.name, site, {&x}).index_input(x, "x").output();
}

}  // namespace towerflow
