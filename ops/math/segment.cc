#include "ops/math/segment.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/gather.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary_functors.h"

namespace towerflow {
namespace {

void segment_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype == DType::bool_ || !dispatch_dtype(dtype, []<class T>() {})) {
    context.fail_type(fmt::format("segments of {} cannot be summed", dtype_name(dtype)));
  }
  const Shape& data = context.shape(0);
  const Shape& ids = context.shape(1);
  if (context.shape(2).has_rank() && context.shape(2).rank() != 0) {
    context.fail("Shape must be rank 0: the number of segments");
  }
  if (!data.has_rank() || !ids.has_rank()) return context.add_output(dtype, Shape::unknown());
  const std::size_t leading = ids.rank();
  const bool fits =
      leading <= data.rank() &&
      Shape(std::vector<Dim>(data.dims().begin(),
                             data.dims().begin() + static_cast<std::ptrdiff_t>(leading)))
          .compatible(ids);
  if (!fits) {
    context.fail(fmt::format("segment ids of shape {} do not fit data of shape {}", ids.text(),
                             data.text()));
  }
  std::vector<Dim> dims{Dim(std::nullopt)};
  if (const Array* number = context.constant(2)) {
    const std::int64_t rows = integers_of(*number).at(0);
    if (rows < 0) context.fail(fmt::format("a number of segments of {}", rows));
    dims[0] = Dim(rows);
  }
  dims.insert(dims.end(), data.dims().begin() + static_cast<std::ptrdiff_t>(leading),
              data.dims().end());
  context.add_output(dtype, Shape(std::move(dims)));
}

std::unique_ptr<PreparedKernel> segment_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const DType dtype = request.inputs[0].dtype;
  const DType id_dtype = request.inputs[1].dtype;
  const std::int64_t count = request.inputs[1].shape.elements();
  const Shape& out = request.outputs[0].shape;
  const std::int64_t rows = out.size(0);
  std::int64_t width = 1;
  for (std::size_t i = 1; i < out.rank(); ++i) width *= out.size(i);
  return function_kernel([=](const LaunchArgs& args) {
    dispatch_dtype(dtype, [&]<class T>() {
      if constexpr (!std::is_same_v<T, bool>) {
        T* sums = args.output<T>(0);
        std::fill_n(sums, rows * width, T(0));
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t id = integer_at(id_dtype, args.inputs[1], i);
          if (id < 0) continue;
          if (id >= rows) {
            throw errors::InvalidArgumentError(
                fmt::format("segment_ids[{}] = {} is out of range [0, {})", i, id, rows));
          }
          const T* row = args.input<T>(0) + i * width;
          T* sum = sums + id * width;
          for (std::int64_t k = 0; k < width; ++k) sum[k] = functors::Add<T>()(sum[k], row[k]);
        }
      }
    });
  });
}

/// Gathers the rows of dy by id; rows with a negative id get zeros, as in TensorFlow.
std::vector<OptionalGradient> segment_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor rows = op.graph()
                          .add({.op = "GatherOrZero",
                                .name = "GatherOrZero",
                                .inputs = {dy, op.input(1)},
                                .site = op.site()})
                          .output(0);
  return {rows, std::nullopt, std::nullopt};
}

}  // namespace

static void register_segment_ops(OpRegistry& registry) {
  registry.add(
      {.name = "UnsortedSegmentSum",
       .inputs = {"data: T", "segment_ids: Index(Tindices)", "num_segments: Index(Tnumsegments)"},
       .outputs = {"output: T"},
       .shape = segment_shape,
       .gradient = segment_gradient});
}

static void register_segment_kernels(KernelTable& table) {
  table.add(
      {.op = "UnsortedSegmentSum", .label = "loop", .accepts = {}, .prepare = segment_kernel});
}

OpFamily segment_family() {
  return {.ops = register_segment_ops, .kernels = register_segment_kernels};
}

Tensor unsorted_segment_sum(const Operand& data, const Operand& segment_ids,
                            const Operand& num_segments, SegmentOptions options, Site site) {
  return OpBuilder("UnsortedSegmentSum", options.name, site, {&data, &segment_ids, &num_segments})
      .input(data, "data")
      .index_input(segment_ids, "segment_ids")
      .index_input(num_segments, "num_segments")
      .output();
}

}  // namespace towerflow
