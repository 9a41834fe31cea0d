#include "ops/array/tensor_scatter.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/gather_nd.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/slice_indices.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary_functors.h"
#include "ops/math/unary.h"
#include "ops/range_kernel.h"

namespace towerflow {
namespace {

void tensor_scatter_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype != context.dtype(2)) {
    context.fail_type(fmt::format("updates of {} do not fit a tensor of {}",
                                  dtype_name(context.dtype(2)), dtype_name(dtype)));
  }
  if (context.shape(0).has_rank() && context.shape(0).rank() == 0) {
    context.fail("Shape must be at least rank 1 but is rank 0: the tensor of a scatter");
  }
  check_updates(context, context.shape(1), context.shape(2), context.shape(0));
  context.add_output(dtype, context.shape(0));
}

bool has_sums(const KernelRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  return dtype != DType::bool_ && dispatch_dtype(dtype, []<class T>() {});
}

/// Copies the tensor unless the result has its memory, then applies `Rule` to one update after
/// another.
template <class T, class Rule>
std::unique_ptr<PreparedKernel> tensor_scatter_kernel_of(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const SliceIndices places(request.inputs[1], shape);
  if (request.inputs[2].shape != indexed_shape(request.inputs[1].shape, shape)) {
    throw errors::InvalidArgumentError(
        fmt::format("updates of shape {} do not fit indices of shape {} in {}",
                    request.inputs[2].shape.text(), request.inputs[1].shape.text(), shape.text()));
  }
  return function_kernel(
      [places, elements = shape.elements()](const LaunchArgs& args) {
        const T* from = args.input<T>(0);
        T* to = args.output<T>(0);
        if (from != to) std::copy_n(from, elements, to);
        const std::int64_t width = places.slice();
        for (std::int64_t row = 0; row < places.rows(); ++row) {
          T* slice = to + places.offset(args.inputs[1], row);
          const T* update = args.input<T>(2) + row * width;
          for (std::int64_t i = 0; i < width; ++i) Rule()(slice[i], update[i]);
        }
      },
      {.in_place = {{0, 0}}});
}

struct ReplaceSlice {
  template <class T>
  void operator()(T& at, const T& update) const {
    at = update;
  }
};
template <template <class> class Functor>
struct ChangeSlice {
  template <class T>
  void operator()(T& at, const T& update) const {
    at = Functor<T>()(at, update);
  }
};

std::unique_ptr<PreparedKernel> tensor_scatter_update_kernel(const KernelRequest& request) {
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_copyable(request.inputs[0].dtype, [&]<class T>() {
    kernel = tensor_scatter_kernel_of<T, ReplaceSlice>(request);
  });
  return kernel;
}

template <template <class> class Functor>
std::unique_ptr<PreparedKernel> tensor_scatter_sum_kernel(const KernelRequest& request) {
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return tensor_scatter_kernel_of<T, ChangeSlice<Functor>>(request);
  });
}

std::vector<OptionalGradient> tensor_scatter_update_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor updates = gather_nd(dy, op.input(1), {}, site);
  const Tensor kept = identity(dy, {}, site);
  const Tensor zero = zeros_like(op.input(2), {.dtype = dy.dtype()}, site);
  return {tensor_scatter_nd_update(kept, op.input(1), zero, {}, site), std::nullopt, updates};
}

template <bool kNegative>
std::vector<OptionalGradient> tensor_scatter_sum_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor updates = gather_nd(dy, op.input(1), {}, site);
  const Tensor tensor = identity(dy, {}, site);
  return {tensor, std::nullopt, kNegative ? negative(updates, {}, site) : updates};
}

Tensor add_tensor_scatter(const char* op, const Operand& tensor, const Operand& indices,
                          const Operand& updates, const TensorScatterOptions& options, Site site) {
  return OpBuilder(op, options.name, site, {&tensor, &indices, &updates})
      .input(tensor, "tensor", "T")
      .index_input(indices, "indices")
      .input(updates, "updates", "T")
      .output();
}

}  // namespace

static void register_tensor_scatter_ops(OpRegistry& registry) {
  const std::pair<const char*, GradientRule> ops[] = {
      {"TensorScatterUpdate", tensor_scatter_update_gradient},
      {"TensorScatterAdd", tensor_scatter_sum_gradient<false>},
      {"TensorScatterSub", tensor_scatter_sum_gradient<true>}};
  for (const auto& [name, gradient] : ops) {
    registry.add({.name = name,
                  .inputs = {"tensor: T", "indices: Index(Tindices)", "updates: T"},
                  .outputs = {"output: T"},
                  .attrs = attributes().fixed("bad_indices_policy", std::string()),
                  .shape = tensor_scatter_shape,
                  .gradient = gradient});
  }
}

static void register_tensor_scatter_kernels(KernelTable& table) {
  table.add({.op = "TensorScatterUpdate",
             .label = "copy",
             .accepts = {},
             .prepare = tensor_scatter_update_kernel});
  table.add({.op = "TensorScatterAdd",
             .label = "loop",
             .accepts = has_sums,
             .prepare = tensor_scatter_sum_kernel<functors::Add>});
  table.add({.op = "TensorScatterSub",
             .label = "loop",
             .accepts = has_sums,
             .prepare = tensor_scatter_sum_kernel<functors::Sub>});
}

OpFamily tensor_scatter_family() {
  return {.ops = register_tensor_scatter_ops, .kernels = register_tensor_scatter_kernels};
}

Tensor tensor_scatter_nd_update(const Operand& tensor, const Operand& indices,
                                const Operand& updates, TensorScatterOptions options, Site site) {
  return add_tensor_scatter("TensorScatterUpdate", tensor, indices, updates, options, site);
}

Tensor tensor_scatter_nd_add(const Operand& tensor, const Operand& indices, const Operand& updates,
                             TensorScatterOptions options, Site site) {
  return add_tensor_scatter("TensorScatterAdd", tensor, indices, updates, options, site);
}

Tensor tensor_scatter_nd_sub(const Operand& tensor, const Operand& indices, const Operand& updates,
                             TensorScatterOptions options, Site site) {
  return add_tensor_scatter("TensorScatterSub", tensor, indices, updates, options, site);
}

}  // namespace towerflow
