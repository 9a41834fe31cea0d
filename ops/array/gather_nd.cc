#include "ops/array/gather_nd.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary_functors.h"

namespace towerflow {
namespace {

/// Throws unless `indices` may index into a tensor of shape `params`.
void check_index_rows(const InferenceContext& context, const Shape& indices, const Shape& params) {
  if (!indices.has_rank()) return;
  if (indices.rank() == 0) context.fail("Shape must be at least rank 1 but is rank 0: indices");
  const Dim length = indices[indices.rank() - 1];
  if (!length.known() || !params.has_rank()) return;
  if (static_cast<std::size_t>(length.size()) > params.rank()) {
    context.fail(
        fmt::format("indices.shape[-1] must be <= params.rank, but saw indices shape: {} "
                    "and params shape: {}",
                    indices.text(), params.text()));
  }
}

void gather_nd_shape(InferenceContext& context) {
  const Shape& params = context.shape(0);
  const Shape& indices = context.shape(1);
  check_index_rows(context, indices, params);
  if (!params.has_rank() || !indices.has_rank() || !indices[indices.rank() - 1].known()) {
    return context.add_output(context.dtype(0), Shape::unknown());
  }
  std::vector<Dim> dims(indices.dims().begin(), indices.dims().end() - 1);
  const auto named = static_cast<std::ptrdiff_t>(indices[indices.rank() - 1].size());
  dims.insert(dims.end(), params.dims().begin() + named, params.dims().end());
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

void scatter_nd_shape(InferenceContext& context) {
  const Shape& indices = context.shape(0);
  const Shape& updates = context.shape(1);
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
  check_index_rows(context, indices, shape);
  if (shape.has_rank() && indices.has_rank() && updates.has_rank() &&
      indices[indices.rank() - 1].known()) {
    std::vector<Dim> dims(indices.dims().begin(), indices.dims().end() - 1);
    const auto named = static_cast<std::ptrdiff_t>(indices[indices.rank() - 1].size());
    dims.insert(dims.end(), shape.dims().begin() + named, shape.dims().end());
    if (!Shape(dims).compatible(updates)) {
      context.fail(fmt::format("updates of shape {} do not fit indices of shape {} in {}",
                               updates.text(), indices.text(), shape.text()));
    }
  }
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

/// Rows of numbers, each of which is the index of a slice of a tensor.
class SliceIndices {
 public:
  SliceIndices(const TensorDesc& indices, const Shape& shape)
      : dtype_(indices.dtype),
        length_(indices.shape.size(indices.shape.rank() - 1)),
        shape_(shape) {
    for (std::size_t i = 0; i + 1 < indices.shape.rank(); ++i) rows_ *= indices.shape.size(i);
    for (auto i = static_cast<std::size_t>(length_); i < shape.rank(); ++i) slice_ *= shape.size(i);
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t slice() const { return slice_; }
  /// Returns the offset of the slice that `row` selects. Throws InvalidArgumentError if out of
  /// range.
  std::int64_t offset(const void* indices, std::int64_t row) const {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < length_; ++i) {
      const std::int64_t index = integer_at(dtype_, indices, row * length_ + i);
      const std::int64_t size = shape_.size(static_cast<std::size_t>(i));
      if (index < 0 || index >= size) throw_bad_index(indices, row);
      at = at * size + index;
    }
    return at * slice_;
  }

 private:
  [[noreturn]] void throw_bad_index(const void* indices, std::int64_t row) const {
    std::vector<std::int64_t> place;
    for (std::int64_t i = 0; i < length_; ++i) {
      place.push_back(integer_at(dtype_, indices, row * length_ + i));
    }
    throw errors::InvalidArgumentError(
        fmt::format("indices[{}] = [{}] does not index into shape {}", row, fmt::join(place, ", "),
                    shape_.text()));
  }

  DType dtype_;
  std::int64_t length_, rows_ = 1, slice_ = 1;
  Shape shape_;
};

class GatherNdKernel final : public CpuKernel {
 public:
  explicit GatherNdKernel(const KernelRequest& request)
      : places_(request.inputs[1], request.inputs[0].shape), dtype_(request.inputs[0].dtype) {}
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
