#include "ops/array/tile.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_input.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

void tile_shape(InferenceContext& context) {
  const Shape& given = context.shape(0);
  const Shape& vector = context.shape(1);
  if (vector.has_rank() && vector.rank() != 1) {
    context.fail(
        fmt::format("Shape must be rank 1 but is rank {}: the multiples of a tile", vector.rank()));
  }
  const bool length_known = vector.has_rank() && vector[0].known();
  if (given.has_rank() && length_known &&
      static_cast<std::size_t>(vector.size(0)) != given.rank()) {
    context.fail(fmt::format("Shape must be rank {} but is rank {}: a tile by {} multiples",
                             vector.size(0), given.rank(), vector.size(0)));
  }
  const Array* multiples = context.constant(1);
  if (!given.has_rank() && !length_known) {
    return context.add_output(context.dtype(0), Shape::unknown());
  }
  const Shape input =
      given.has_rank() ? given : Shape::of_rank(static_cast<std::size_t>(vector.size(0)));
  std::vector<Dim> dims;
  if (multiples == nullptr) {
    for (const Dim& dim : input.dims()) dims.push_back(dim == Dim(0) ? dim : Dim(None));
    return context.add_output(context.dtype(0), Shape(std::move(dims)));
  }
  const std::vector<std::int64_t> times = integers_of(*multiples);
  for (std::size_t i = 0; i < input.rank(); ++i) {
    if (times[i] < -1) {
      context.fail(fmt::format("Expected multiples[{}] >= 0, but got {}", i, times[i]));
    }
    std::int64_t size = 0;
    if (times[i] == -1) {  // unknown, as in other vectors of sizes; the run refuses it
      dims.push_back(input[i] == Dim(0) ? input[i] : Dim(None));
      continue;
    }
    if (input[i].known() && __builtin_mul_overflow(input.size(i), times[i], &size)) {
      context.fail(fmt::format("size {} of a tile does not fit 63 bits", i));
    }
    dims.push_back(input[i].known() || times[i] == 0 ? Dim(size) : Dim(std::nullopt));
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

std::unique_ptr<PreparedKernel> tile_kernel(const KernelRequest& request) {
  const Shape in = request.inputs[0].shape;
  const Shape out = request.outputs[0].shape;
  if (!out.fully_known()) {
    throw errors::InvalidArgumentError(
        fmt::format("a tile of {} by a negative multiple gives {}", in.text(), out.text()));
  }
  const DType dtype = request.inputs[1].dtype;
  const std::vector<std::int64_t> from = dense_strides(in);
  const std::vector<std::int64_t> to = dense_strides(out);
  return strided_copy_kernel(
      request, 1, [=](const void* const* inputs, std::size_t, StridedCopy& copy) {
        for (std::size_t i = 0; i < in.rank(); ++i) {
          if (integer_at(dtype, inputs[1], static_cast<std::int64_t>(i)) < 0) {
            throw errors::InvalidArgumentError("Expected multiples >= 0");
          }
          const std::int64_t times = in.size(i) == 0 ? 0 : out.size(i) / in.size(i);
          copy.add(times, 0, in.size(i) * to[i]);
          copy.add(in.size(i), from[i], to[i]);
        }
      });
}

/// Returns (m0, d0, m1, d1, ..), a constant if multiples and sizes are known.
Tensor pairs_with_sizes(const Operation& op) {
  const Tensor x = op.input(0);
  const Array multiples = constant_value(op.input(1));
  if (!multiples.empty() && x.shape().fully_known()) {
    std::vector<std::int64_t> pairs;
    const std::vector<std::int64_t> times = integers_of(multiples);
    for (std::size_t i = 0; i < times.size(); ++i) {
      pairs.push_back(times[i]);
      pairs.push_back(x.shape().size(i));
    }
    return index_constant(op.graph(), pairs, "pairs", op.site());
  }
  const Tensor sizes = towerflow::shape(x, {.out_type = op.input(1).dtype()}, op.site());
  return reshape(stack({op.input(1), sizes}, 1, {}, op.site()), {-1}, {}, op.site());
}

/// Reshapes dy to pairs_with_sizes and sums over the even axes.
std::vector<OptionalGradient> tile_gradient(const Operation& op,
                                            const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor pairs = pairs_with_sizes(op);
  const Tensor apart = reshape(dense_gradient(dys[0], site), pairs, {}, site);
  if (!op.output(0).shape().has_rank()) {
    const Tensor axes = range(0, size(pairs, {}, site), 2, {}, site);
    return {reduce_sum(apart, axes, {}, site), std::nullopt};
  }
  const auto rank = static_cast<int>(op.output(0).shape().rank());
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(2 * i);
  return {reduce_sum(apart, axes, {}, site), std::nullopt};
}

/// Sets the sizes that follow from multiples of which only some are known, as in a stack of numbers
/// and tensors.
Tensor with_known_sizes(Tensor tiled, Site site) {
  const Shape& input = tiled.op().input(0).shape();
  if (!input.has_rank() || tiled.shape().fully_known()) return tiled;
  const Shape multiples = constant_value_as_shape(tiled.op().input(1));
  if (!multiples.has_rank() || multiples.rank() != input.rank()) return tiled;
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    std::int64_t size = 0;
    const bool known = input[i].known() && multiples[i].known() &&
                       !__builtin_mul_overflow(input.size(i), multiples.size(i), &size);
    dims.push_back(known ? Dim(size) : Dim(std::nullopt));
  }
  tiled.set_shape(Shape(std::move(dims)), site);
  return tiled;
}

}  // namespace

static void register_tile_ops(OpRegistry& registry) {
  registry.add({.name = "Tile",
                .inputs = {"input: T", "multiples: Index(Tmultiples)"},
                .outputs = {"output: T"},
                .shape = tile_shape,
                .gradient = tile_gradient});
}

static void register_tile_kernels(KernelTable& table) {
  table.add({.op = "Tile", .label = "copy", .accepts = {}, .prepare = tile_kernel});
}

OpFamily tile_family() { return {.ops = register_tile_ops, .kernels = register_tile_kernels}; }

Tensor tile(const Operand& input, const Operand& multiples, TileOptions options, Site site) {
  const Tensor tiled = OpBuilder("Tile", options.name, site, {&input, &multiples})
                           .input(input, "input")
                           .index_input(multiples, "multiples")
                           .output();
  return with_known_sizes(tiled, site);
}

}  // namespace towerflow
