#include "ops/array/sparse_to_dense.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/gather_nd.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/shape_input.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

struct SparseToDenseAttrs {
  bool validate_indices = true;
  static constexpr auto fields =
      std::tuple{attr::field("validate_indices", &SparseToDenseAttrs::validate_indices)};
};

void check_rank_at_most(const KernelRequest& request, std::size_t input, std::size_t most,
                        const char* name) {
  const Shape& shape = request.inputs[input].shape;
  if (shape.rank() <= most) return;
  throw errors::InvalidArgumentError(fmt::format(
      "{} must have at most {} dimensions, but its shape is {}", name, most, shape.text()));
}

void sparse_to_dense_shape(InferenceContext& context) {
  if (context.dtype(0) != context.dtype(1)) {
    context.fail_type(fmt::format("sparse_indices is {}, but output_shape is {}",
                                  dtype_name(context.dtype(0)), dtype_name(context.dtype(1))));
  }
  if (context.dtype(2) != context.dtype(3)) {
    context.fail_type(fmt::format("sparse_values is {}, but default_value is {}",
                                  dtype_name(context.dtype(2)), dtype_name(context.dtype(3))));
  }
  context.add_output(context.dtype(2), shape_from_input(context, 1));
}

/// The gradient of the values is dy at their places; what is left is that of the default value.
std::vector<OptionalGradient> sparse_to_dense_gradient(const Operation& op,
                                                       const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Shape& places = op.input(0).shape();
  Tensor rows = op.input(0);
  if (places.has_rank() && places.rank() < 2) rows = reshape(rows, {-1, 1}, {}, site);
  const Tensor taken = gather_nd(dy, rows, {}, site);
  const Tensor all = reduce_sum(dy, {}, site);
  const Tensor rest = subtract(all, reduce_sum(taken, {}, site), {}, site);
  const Shape& values = op.input(2).shape();
  const bool one_value = values.has_rank() && values.rank() == 0;
  const Tensor of_values = one_value ? reduce_sum(taken, {}, site) : taken;
  return {std::nullopt, std::nullopt, of_values, rest};
}

/// The sizes of a launch.
struct SparsePlan {
  std::int64_t count = 1;  ///< of places
  std::int64_t width = 1;  ///< numbers of one place
  bool one_value = false;
  bool validate = true;
  DType index = DType::int32;
  Shape out;
};

SparsePlan sparse_plan(const KernelRequest& request) {
  check_kernel_rank(request);
  check_rank_at_most(request, 0, 2, "sparse_indices");
  check_rank_at_most(request, 2, 1, "sparse_values");
  check_rank_at_most(request, 3, 0, "default_value");
  SparsePlan plan;
  const Shape &places = request.inputs[0].shape, &values = request.inputs[2].shape;
  plan.out = request.outputs[0].shape;
  if (places.rank() > 0) plan.count = places.size(0);
  if (places.rank() > 1) plan.width = places.size(1);
  plan.one_value = values.rank() == 0;
  plan.validate = request.attributes<SparseToDenseAttrs>().validate_indices;
  plan.index = request.inputs[0].dtype;
  if (plan.width != static_cast<std::int64_t>(plan.out.rank())) {
    throw errors::InvalidArgumentError(fmt::format(
        "output_shape has {} sizes, but an index has {} numbers", plan.out.rank(), plan.width));
  }
  if (!plan.one_value && values.size(0) != plan.count) {
    throw errors::InvalidArgumentError(
        fmt::format("there are {} indices, but {} sparse_values", plan.count, values.size(0)));
  }
  return plan;
}

/// Returns the place in the result that index number `i` means. Throws if it is outside.
std::int64_t sparse_place_of(const SparsePlan& plan, const void* indices, std::int64_t i) {
  std::int64_t place = 0;
  for (std::int64_t k = 0; k < plan.width; ++k) {
    const std::int64_t index = integer_at(plan.index, indices, i * plan.width + k);
    const std::int64_t size = plan.out.size(static_cast<std::size_t>(k));
    if (index < 0 || index >= size) {
      throw errors::InvalidArgumentError(fmt::format(
          "indices[{}] is out of bounds: {} is not in [0, {}) in dimension {}", i, index, size, k));
    }
    place = place * size + index;
  }
  return place;
}

void check_places(const SparsePlan& plan, const void* indices) {
  std::int64_t before = -1;
  for (std::int64_t i = 0; i < plan.count; ++i) {
    const std::int64_t place = sparse_place_of(plan, indices, i);
    if (plan.validate && place <= before) {
      throw errors::InvalidArgumentError(
          fmt::format("indices[{}] is {}", i, place == before ? "repeated" : "out of order"));
    }
    before = place;
  }
}

std::unique_ptr<PreparedKernel> sparse_to_dense_kernel(const KernelRequest& request) {
  return function_kernel([plan = sparse_plan(request), dtype = request.inputs[2].dtype,
                          elements = request.outputs[0].shape.elements()](const LaunchArgs& args) {
    check_places(plan, args.inputs[0]);
    dispatch_copyable(dtype, [&]<class T>() {
      T* out = args.output<T>(0);
      std::fill_n(out, elements, *args.input<T>(3));
      for (std::int64_t i = 0; i < plan.count; ++i) {
        out[sparse_place_of(plan, args.inputs[0], i)] = args.input<T>(2)[plan.one_value ? 0 : i];
      }
    });
  });
}

}  // namespace

static void register_sparse_to_dense_ops(OpRegistry& registry) {
  registry.add({.name = "SparseToDense",
                .inputs = {"sparse_indices: Index(Tindices)", "output_shape: Index(Tindices)",
                           "sparse_values: T", "default_value: T"},
                .outputs = {"dense: T"},
                .attrs = attributes<SparseToDenseAttrs>(),
                .shape = sparse_to_dense_shape,
                .gradient = sparse_to_dense_gradient});
}

static void register_sparse_to_dense_kernels(KernelTable& table) {
  table.add({.op = "SparseToDense",
             .label = "loop",
             .accepts = [](const KernelRequest& r) { return r.inputs[2].dtype != DType::resource; },
             .prepare = sparse_to_dense_kernel});
}

OpFamily sparse_to_dense_family() {
  return {.ops = register_sparse_to_dense_ops, .kernels = register_sparse_to_dense_kernels};
}

Tensor sparse_to_dense(const Operand& sparse_indices, const Operand& output_shape,
                       const Operand& sparse_values, const ScalarOperand& default_value,
                       SparseToDenseOptions options, Site site) {
  OpBuilder builder("SparseToDense", options.name, site,
                    {&sparse_indices, &output_shape, &sparse_values, &default_value});
  return builder.input(sparse_indices, "sparse_indices", "Tindices")
      .input(output_shape, "output_shape", "Tindices")
      .input(sparse_values, "sparse_values", "T")
      .input(default_value, "default_value", "T")
      .attrs(SparseToDenseAttrs{options.validate_indices})
      .output();
}

}  // namespace towerflow
