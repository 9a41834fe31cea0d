#include "ops/array/gather_nd.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/slice_indices.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary_functors.h"

namespace towerflow {
namespace {

void gather_nd_shape(InferenceContext& context) {
  const Shape& params = context.shape(0);
  const Shape& indices = context.shape(1);
  check_index_rows(context, indices, params);
  context.add_output(context.dtype(0), indexed_shape(indices, params));
}

void scatter_nd_shape(InferenceContext& context) {
  const Shape& indices = context.shape(0);
  const Shape& updates = context.shape(1);
  if (updates.has_rank() && updates.rank() == 0) {
    context.fail("Shape must be at least rank 1 but is rank 0: the updates of a scatter_nd");
  }
  Shape shape = Shape::unknown();
  if (const Array* sizes = context.constant(2)) {
    std::vector<Dim> dims;
    for (const std::int64_t size : integers_of(*sizes)) {
      if (size < 0) context.fail(fmt::format("a size of {} in the shape of a scatter_nd", size));
      dims.emplace_back(size);
    }
    shape = Shape(std::move(dims));
  } else if (context.shape(2).fully_known()) {
    shape = Shape::of_rank(static_cast<std::size_t>(context.shape(2).elements()));
  }
  check_updates(context, indices, updates, shape);
  context.add_output(context.dtype(1), std::move(shape));
}

std::vector<OptionalGradient> gather_nd_gradient(const Operation& op,
                                                 const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor indices = op.input(1);
  const Tensor sizes = towerflow::shape(op.input(0), {.out_type = indices.dtype()}, site);
  const Shape& places = indices.shape();
  if (places.has_rank() && places.rank() == 2 && places[1].known() && places.size(1) == 1) {
    return {IndexedSlices{dy, squeeze(indices, {.axis = {-1}}, site), sizes}, std::nullopt};
  }
  return {scatter_nd(indices, dy, sizes, {}, site), std::nullopt};
}

std::vector<OptionalGradient> scatter_nd_gradient(const Operation& op,
                                                  const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  return {std::nullopt, gather_nd(dy, op.input(0), {}, op.site()), std::nullopt};
}

class GatherNdKernel final : public CpuKernel {
 public:
  explicit GatherNdKernel(const KernelRequest& request)
      : places_(request.inputs[1], request.inputs[0].shape), dtype_(request.inputs[0].dtype) {
    if (places_.rows() > 0 && request.inputs[0].shape.elements() == 0) {
      throw errors::InvalidArgumentError(
          fmt::format("Requested more than 0 entries, but params is empty. Params shape: {}",
                      request.inputs[0].shape.text()));
    }
  }
  int slices(int) const override { return row_slices(places_.rows(), places_.slice()); }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange part = slice_range(places_.rows(), slices(0), slice);
    dispatch_copyable(dtype_, [&]<class T>() {
      for (std::int64_t row = part.begin; row < part.end; ++row) {
        std::copy_n(static_cast<const T*>(inputs[0]) + places_.offset(inputs[1], row),
                    places_.slice(), static_cast<T*>(outputs[0]) + row * places_.slice());
      }
    });
  }

 private:
  SliceIndices places_;
  DType dtype_;
};

/// Adds rows in order, since rounding depends on it.
std::unique_ptr<PreparedKernel> scatter_nd_kernel(const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  const SliceIndices places(request.inputs[0], shape);
  const Shape &indices = request.inputs[0].shape, &updates = request.inputs[1].shape;
  if (updates != indexed_shape(indices, shape)) {
    throw errors::InvalidArgumentError(
        fmt::format("updates of shape {} do not fit indices of shape {} in {}", updates.text(),
                    indices.text(), shape.text()));
  }
  return function_kernel([places, elements = shape.elements(),
                          dtype = request.inputs[1].dtype](const LaunchArgs& args) {
    dispatch_dtype(dtype, [&]<class T>() {
      if constexpr (!std::is_same_v<T, bool>) {
        T* sums = args.output<T>(0);
        std::fill_n(sums, elements, T(0));
        for (std::int64_t row = 0; row < places.rows(); ++row) {
          T* sum = sums + places.offset(args.inputs[0], row);
          const T* update = args.input<T>(1) + row * places.slice();
          for (std::int64_t i = 0; i < places.slice(); ++i) {
            sum[i] = functors::Add<T>()(sum[i], update[i]);
          }
        }
      }
    });
  });
}

}  // namespace

static void register_gather_nd_ops(OpRegistry& registry) {
  registry.add({.name = "GatherNd",
                .inputs = {"params: Tparams", "indices: Index(Tindices)"},
                .outputs = {"output: Tparams"},
                .attrs = attributes().fixed("bad_indices_policy", std::string()),
                .shape = gather_nd_shape,
                .gradient = gather_nd_gradient});
  registry.add({.name = "ScatterNd",
                .inputs = {"indices: Index(Tindices)", "updates: T", "shape: Index(Tindices)"},
                .outputs = {"output: T"},
                .attrs = attributes().fixed("bad_indices_policy", std::string()),
                .shape = scatter_nd_shape,
                .gradient = scatter_nd_gradient,
                .static_inputs = {2}});
}

static void register_gather_nd_kernels(KernelTable& table) {
  table.add({.op = "GatherNd", .label = "copy", .accepts = {}, .prepare = [](const auto& request) {
               check_kernel_rank(request);
               return sliced_kernel(std::make_unique<GatherNdKernel>(request));
             }});
  table.add({.op = "ScatterNd",
             .label = "loop",
             .accepts =
                 [](const KernelRequest& request) {
                   const DType dtype = request.inputs[1].dtype;
                   return dtype != DType::bool_ && dispatch_dtype(dtype, []<class T>() {});
                 },
             .prepare = scatter_nd_kernel});
}

OpFamily gather_nd_family() {
  return {.ops = register_gather_nd_ops, .kernels = register_gather_nd_kernels};
}

Tensor gather_nd(const Operand& params, const Operand& indices, GatherNdOptions options,
                 Site site) {
  return OpBuilder("GatherNd", options.name, site, {&params, &indices})
      .input(params, "params")
      .index_input(indices, "indices")
      .output();
}

Tensor scatter_nd(const Operand& indices, const Operand& updates, const Operand& shape,
                  ScatterNdOptions options, Site site) {
  OpBuilder builder("ScatterNd", options.name, site, {&indices, &updates, &shape});
  builder.index_input(indices, "indices").input(updates, "updates");
  return builder.type("Tindices", builder.tensors()[0].dtype())
      .input(shape, "shape", "Tindices")
      .output();
}

}  // namespace towerflow
