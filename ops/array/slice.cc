#include "ops/array/slice.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/export_forms.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

std::optional<std::size_t> vector_length(const Shape& shape) {
  if (!shape.has_rank() || shape.rank() != 1 || !shape[0].known()) return std::nullopt;
  return static_cast<std::size_t>(shape.size(0));
}

void check_vectors(InferenceContext& context, std::size_t first) {
  for (std::size_t i = first; i < first + 2; ++i) {
    const Shape& shape = context.shape(i);
    if (shape.has_rank() && shape.rank() != 1) {
      context.fail(fmt::format("Shape must be rank 1 but is rank {}: begin or size of a slice",
                               shape.rank()));
    }
    const auto length = vector_length(shape);
    const Shape& input = context.shape(0);
    if (input.has_rank() && length && *length != input.rank()) {
      context.fail(fmt::format("Shape must be rank {} but is rank {}: the tensor that is sliced",
                               *length, input.rank()));
    }
  }
}

void slice_shape(InferenceContext& context) {
  check_vectors(context, 1);
  if (!context.shape(1).compatible(context.shape(2))) {
    context.fail(fmt::format("begin {} and size {} of a slice differ in length",
                             context.shape(1).text(), context.shape(2).text()));
  }
  const Shape& input = context.shape(0);
  const Array* begin = context.constant(1);
  const Array* size = context.constant(2);
  std::optional<std::size_t> rank = vector_length(context.shape(1));
  if (!rank) rank = vector_length(context.shape(2));
  if (input.has_rank()) rank = input.rank();
  if (!rank) return context.add_output(context.dtype(0), Shape::unknown());
  std::vector<Dim> dims = Shape::of_rank(*rank).dims();
  for (std::size_t i = 0; i < *rank && size != nullptr; ++i) {
    const std::int64_t count = integers_of(*size)[i];
    const Dim whole = input.has_rank() ? input[i] : Dim(std::nullopt);
    const std::int64_t from = begin != nullptr ? integers_of(*begin)[i] : 0;
    if (count < -1 || from < 0) {
      context.fail(fmt::format("dimension {} of a slice: begin {}, size {}", i, from, count));
    }
    if (count < 0 && whole.known() && from > whole.size()) {
      context.fail(fmt::format("dimension {} of a slice begins at {}, after its size {}", i, from,
                               whole.size()));
    }
    if (count >= 0) {
      dims[i] = Dim(count);
    } else if (begin != nullptr && whole.known()) {
      dims[i] = Dim(whole.size() - from);
    }
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

std::int64_t checked_begin(std::int64_t begin, std::int64_t size, std::int64_t whole) {
  if (begin < 0 || size < 0 || begin > whole || size > whole - begin) {
    throw errors::InvalidArgumentError(fmt::format(
        "Expected a slice inside 0 .. {}, got {} elements from {}", whole, size, begin));
  }
  return begin;
}

std::unique_ptr<PreparedKernel> slice_kernel(const KernelRequest& request) {
  const Shape in = request.inputs[0].shape;
  const Shape out = request.outputs[0].shape;
  const DType begin_dtype = request.inputs[1].dtype;
  const std::vector<std::int64_t> from = dense_strides(in);
  const std::vector<std::int64_t> to = dense_strides(out);
  return strided_copy_kernel(
      request, 1, [=](const void* const* inputs, std::size_t, StridedCopy& copy) {
        for (std::size_t i = 0; i < out.rank(); ++i) {
          const std::int64_t begin =
              checked_begin(integer_at(begin_dtype, inputs[1], static_cast<std::int64_t>(i)),
                            out.size(i), in.size(i));
          copy.from_offset += begin * from[i];
          copy.add(out.size(i), from[i], to[i]);
        }
      });
}

std::vector<OptionalGradient> slice_gradient(const Operation& op,
                                             const std::vector<OptionalGradient>& dys) {
  const Tensor shape = towerflow::shape(op.input(0), {.out_type = DType::int32}, op.site());
  const Tensor padded = op.graph()
                            .add({.op = "SliceGrad",
                                  .name = "SliceGrad",
                                  .inputs = {dense_gradient(dys[0], op.site()), op.input(1), shape},
                                  .site = op.site()})
                            .output(0);
  return {padded, std::nullopt, std::nullopt};
}

/// Inputs: dy, begin, shape. Output: zeros of that shape with dy at begin.
void slice_grad_shape(InferenceContext& context) {
  check_vectors(context, 1);
  const Array* shape = context.constant(2);
  const auto rank = vector_length(context.shape(2));
  if (shape == nullptr) {
    return context.add_output(context.dtype(0), rank ? Shape::of_rank(*rank) : Shape::unknown());
  }
  context.add_output(context.dtype(0), Shape(std::span<const std::int64_t>(integers_of(*shape))));
}

std::vector<OptionalGradient> slice_grad_gradient(const Operation& op,
                                                  const std::vector<OptionalGradient>& dys) {
  const Tensor size = towerflow::shape(op.input(0), {.out_type = op.input(1).dtype()}, op.site());
  return {slice(dense_gradient(dys[0], op.site()), op.input(1), size, {}, op.site()), std::nullopt,
          std::nullopt};
}

/// Copies dy into zeros. Uses one slice, since zeroing must come first.
std::unique_ptr<PreparedKernel> slice_grad_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape in = request.inputs[0].shape;
  const Shape out = request.outputs[0].shape;
  const DType begin_dtype = request.inputs[1].dtype;
  const DType dtype = request.outputs[0].dtype;
  const std::vector<std::int64_t> from = dense_strides(in);
  const std::vector<std::int64_t> to = dense_strides(out);
  const std::size_t bytes = request.outputs[0].bytes();
  return function_kernel([=](const LaunchArgs& args) {
    if (bytes == 0) return;
    std::memset(args.outputs[0], 0, bytes);
    StridedCopy copy;
    for (std::size_t i = 0; i < in.rank(); ++i) {
      const std::int64_t begin =
          checked_begin(integer_at(begin_dtype, args.inputs[1], static_cast<std::int64_t>(i)),
                        in.size(i), out.size(i));
      copy.to_offset += begin * to[i];
      copy.add(in.size(i), from[i], to[i]);
    }
    copy.run(dtype, args.inputs[0], args.outputs[0], 0, 1);
  });
}

}  // namespace

static void register_slice_ops(OpRegistry& registry) {
  registry.add({.name = "Slice",
                .inputs = {"input: T", "begin: Index(Index)", "size: Index(Index)"},
                .outputs = {"output: T"},
                .shape = slice_shape,
                .gradient = slice_gradient});
  registry.add({.name = "SliceGrad",
                .inputs = {"dy: T", "begin: Index(Index)", "shape: int32"},
                .outputs = {"output: T"},
                .shape = slice_grad_shape,
                .gradient = slice_grad_gradient,
                .export_form = export_forms::slice_grad});
}

static void register_slice_kernels(KernelTable& table) {
  table.add({.op = "Slice", .label = "copy", .accepts = {}, .prepare = slice_kernel});
  table.add({.op = "SliceGrad", .label = "copy", .accepts = {}, .prepare = slice_grad_kernel});
}

OpFamily slice_family() { return {.ops = register_slice_ops, .kernels = register_slice_kernels}; }

Tensor slice(const Operand& input, const Operand& begin, const Operand& size, SliceOptions options,
             Site site) {
  OpBuilder builder("Slice", options.name, site, {&input, &begin, &size});
  builder.input(input, "input").index_input(begin, "begin");
  return builder.type("Index", builder.tensors()[1].dtype()).input(size, "size", "Index").output();
}

}  // namespace towerflow
