#include "ops/array/broadcast_to.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_input.h"
#include "ops/family.h"
#include "ops/math/sum_to_shape.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

void broadcast_to_shape(InferenceContext& context) {
  const Shape& vector = context.shape(1);
  if (vector.has_rank() && vector.rank() != 1) {
    context.fail(fmt::format("Shape must be rank 1 but is rank {}: the shape to broadcast to",
                             vector.rank()));
  }
  const Array* sizes = context.constant(1);
  std::vector<Dim> dims;
  if (sizes != nullptr) {
    for (const std::int64_t size : integers_of(*sizes)) {
      if (size < -1) context.fail(fmt::format("a shape to broadcast to has the size {}", size));
      dims.emplace_back(size);  // -1 is unknown; the run refuses it
    }
  } else if (vector.has_rank() && vector[0].known()) {
    dims.resize(static_cast<std::size_t>(vector.size(0)), None);
  } else {
    return context.add_output(context.dtype(0), Shape::unknown());
  }
  const Shape& input = context.shape(0);
  if (!input.has_rank()) return context.add_output(context.dtype(0), Shape(std::move(dims)));
  const auto refuse = [&] {
    context.fail(fmt::format("Dimensions must be equal: the shape {} does not broadcast to {}",
                             input.text(), Shape(dims).text()));
  };
  if (input.rank() > dims.size()) refuse();
  for (std::size_t i = 0; i < input.rank(); ++i) {  // an empty input is compared in the run
    Dim& out = dims[dims.size() - input.rank() + i];
    if (!input[i].known() || input.size(i) < 2) continue;
    if (out.known() && out != input[i]) refuse();
    out = input[i];
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

std::unique_ptr<PreparedKernel> broadcast_to_kernel(const KernelRequest& request) {
  const Shape in = request.inputs[0].shape;
  const Shape out = request.outputs[0].shape;
  if (!out.fully_known() || broadcast_shapes(in, out) != out) {
    throw errors::InvalidArgumentError(
        fmt::format("the shape {} does not broadcast to {}", in.text(), out.text()));
  }
  const DType dtype = request.inputs[1].dtype;
  const std::vector<std::int64_t> from = dense_strides(in);
  const std::vector<std::int64_t> to = dense_strides(out);
  const std::size_t extra = out.rank() - in.rank();
  return strided_copy_kernel(
      request, 1, [=](const void* const* inputs, std::size_t, StridedCopy& copy) {
        for (std::size_t i = 0; i < out.rank(); ++i) {
          // The graph may know the result from the input alone.
          if (integer_at(dtype, inputs[1], static_cast<std::int64_t>(i)) != out.size(i)) {
            throw errors::InvalidArgumentError(
                fmt::format("the shape {} is not one to broadcast to", in.text()));
          }
          const bool repeated = i < extra || in.size(i - extra) == 1;
          copy.add(out.size(i), repeated ? 0 : from[i - extra], to[i]);
        }
      });
}

std::vector<OptionalGradient> broadcast_to_gradient(const Operation& op,
                                                    const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  return {sum_to_shape_of(dy, op.input(0), op.site()), std::nullopt};
}

}  // namespace

static void register_broadcast_to_ops(OpRegistry& registry) {
  registry.add({.name = "BroadcastTo",
                .inputs = {"input: T", "shape: Index(Tidx)"},
                .outputs = {"output: T"},
                .shape = broadcast_to_shape,
                .gradient = broadcast_to_gradient});
}

static void register_broadcast_to_kernels(KernelTable& table) {
  table.add({.op = "BroadcastTo", .label = "copy", .accepts = {}, .prepare = broadcast_to_kernel});
}

OpFamily broadcast_to_family() {
  return {.ops = register_broadcast_to_ops, .kernels = register_broadcast_to_kernels};
}

Tensor broadcast_to(const Operand& input, const Operand& shape, BroadcastOptions options,
                    Site site) {
  const Tensor made = OpBuilder("BroadcastTo", options.name, site, {&input, &shape})
                          .input(input, "input")
                          .index_input(shape, "shape")
                          .output();
  return with_shape_from_sizes(made, made.op().input(1), site);
}

}  // namespace towerflow
