#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/device/cpu/launch.h"
#include "ops/array/gather.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"

namespace towerflow {
namespace {

/// Returns the shape of one row: the dimensions of the data after those of its indices.
Shape row_shape(InferenceContext& context, std::size_t pair) {
  const std::size_t pairs = context.num_inputs() / 2;
  const Shape& indices = context.shape(pair);
  const Shape& data = context.shape(pairs + pair);
  if (!indices.has_rank() || !data.has_rank()) return Shape::unknown();
  const auto middle =
      data.dims().begin() + static_cast<std::ptrdiff_t>(std::min(indices.rank(), data.rank()));
  if (indices.rank() > data.rank() ||
      !Shape(std::vector<Dim>(data.dims().begin(), middle)).compatible(indices)) {
    context.fail(fmt::format("data of shape {} does not begin with the shape of its indices, {}",
                             data.text(), indices.text()));
  }
  return Shape(std::vector<Dim>(middle, data.dims().end()));
}

void stitch_shape(InferenceContext& context) {
  const std::size_t pairs = context.num_inputs() / 2;
  Shape row = Shape::unknown();
  std::optional<std::int64_t> rows = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto merged = row.merged(row_shape(context, i));
    if (!merged) {
      context.fail(fmt::format("rows {} and {} of a stitch differ", row.text(),
                               row_shape(context, i).text()));
    }
    row = *merged;
    const Array* indices = context.constant(i);
    if (indices == nullptr) {
      rows.reset();
    } else if (rows) {
      for (const std::int64_t index : integers_of(*indices)) rows = std::max(*rows, index + 1);
    }
  }
  if (!row.has_rank()) return context.add_output(context.dtype(pairs), Shape::unknown());
  std::vector<Dim> dims{rows ? Dim(*rows) : Dim(None)};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  context.add_output(context.dtype(pairs), Shape(std::move(dims)));
}

std::unique_ptr<PreparedKernel> stitch_kernel(const KernelRequest& request) {
  const std::size_t pairs = request.inputs.size() / 2;
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < pairs; ++i) counts.push_back(request.inputs[i].shape.elements());
  const DType dtype = request.outputs[0].dtype;
  const Shape& out = request.outputs[0].shape;
  const std::int64_t rows = out.size(0), elements = out.elements();
  return function_kernel([=](const LaunchArgs& args) {
    dispatch_copyable(dtype, [&]<class T>() {
      T* to = args.output<T>(0);
      std::fill_n(to, elements, T());
      const std::int64_t width = rows == 0 ? 0 : elements / rows;
      for (std::size_t i = 0; i < pairs; ++i) {
        const auto* indices = args.input<std::int32_t>(i);
        const T* from = args.input<T>(pairs + i);
        for (std::int64_t k = 0; k < counts[i]; ++k) {
          if (indices[k] < 0 || indices[k] >= rows) {
            throw errors::InvalidArgumentError(
                fmt::format("indices[{}] = {} is not in [0, {})", k, indices[k], rows));
          }
          std::copy_n(from + k * width, width, to + indices[k] * width);
        }
      }
    });
  });
}

std::vector<OptionalGradient> stitch_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const std::size_t pairs = op.num_inputs() / 2;
  std::vector<OptionalGradient> dxs(op.num_inputs());
  for (std::size_t i = 0; i < pairs; ++i) {
    dxs[pairs + i] = gather(dy, op.input(i), {}, op.site());
  }
  return dxs;
}

}  // namespace

// Op DynamicStitch: places rows of several tensors at their indices. Of rows with equal indices the
// last one wins; rows without an index are zero. Graphs from TensorFlow use it in the gradients of
// reductions.
//
// shapes   indices: each any shape s, int32; data: each s + r -> [largest index + 1] + r
// grads    data: the gathered rows of the gradient, also of rows that were overwritten
// errors   InvalidArgumentError at run time: an index below 0
// source   tf.dynamic_stitch
static void register_dynamic_stitch_ops(OpRegistry& registry) {
  registry.add({.name = "DynamicStitch",
                .inputs = {"indices: N * int32", "data: N * T"},
                .outputs = {"merged: T"},
                .shape = stitch_shape,
                .gradient = stitch_gradient});
}

static void register_dynamic_stitch_kernels(KernelTable& table) {
  table.add({.op = "DynamicStitch", .label = "copy", .accepts = {}, .prepare = stitch_kernel});
}

OpFamily dynamic_stitch_family() {
  return {.ops = register_dynamic_stitch_ops, .kernels = register_dynamic_stitch_kernels};
}

}  // namespace towerflow
