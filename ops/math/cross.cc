#include "ops/math/cross.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/math/binary_functors.h"
#include "ops/range_kernel.h"

namespace towerflow {
namespace {

void cross_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype == DType::bool_ || !dispatch_dtype(dtype, []<class T>() {}) ||
      dtype != context.dtype(1)) {
    context.fail_type(fmt::format("a cross product takes numbers of one dtype, not {} and {}",
                                  dtype_name(dtype), dtype_name(context.dtype(1))));
  }
  const auto merged = context.shape(0).merged(context.shape(1));
  if (!merged) {
    context.fail(fmt::format("Shapes must be equal, but are {} and {}: operands of a cross product",
                             context.shape(0).text(), context.shape(1).text()));
  }
  if (merged->has_rank()) {
    if (merged->rank() < 1) context.fail("Shape must be at least rank 1 but is rank 0");
    const Dim last = (*merged)[merged->rank() - 1];
    if (last.known() && last.size() != 3) {
      context.fail(
          fmt::format("Dimension must be 3 but is {}: vectors of a cross product", last.size()));
    }
  }
  context.add_output(dtype, *merged);
}

std::vector<OptionalGradient> cross_gradient(const Operation& op,
                                             const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor da = cross(op.input(1), dy, {}, site);
  return {da, cross(dy, op.input(0), {}, site)};
}

std::unique_ptr<PreparedKernel> cross_kernel(const KernelRequest& request) {
  const Shape &a = request.inputs[0].shape, &b = request.inputs[1].shape;
  if (a != b || a.rank() < 1 || a.size(a.rank() - 1) != 3) {
    throw errors::InvalidArgumentError(fmt::format(
        "a cross product takes vectors of three numbers, not {} and {}", a.text(), b.text()));
  }
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return rows_kernel(a.elements() / 3, 3,
                       [](SliceRange part, const void* const* inputs, void* const* outputs) {
                         const functors::Mul<T> mul;
                         const functors::Sub<T> sub;
                         for (std::int64_t i = 3 * part.begin; i < 3 * part.end; i += 3) {
                           const T* x = static_cast<const T*>(inputs[0]) + i;
                           const T* y = static_cast<const T*>(inputs[1]) + i;
                           T* z = static_cast<T*>(outputs[0]) + i;
                           z[0] = sub(mul(x[1], y[2]), mul(x[2], y[1]));
                           z[1] = sub(mul(x[2], y[0]), mul(x[0], y[2]));
                           z[2] = sub(mul(x[0], y[1]), mul(x[1], y[0]));
                         }
                       });
  });
}

}  // namespace

static void register_cross_ops(OpRegistry& registry) {
  registry.add({.name = "Cross",
                .inputs = {"a: T", "b: T"},
                .outputs = {"product: T"},
                .shape = cross_shape,
                .gradient = cross_gradient});
}

static void register_cross_kernels(KernelTable& table) {
  table.add({.op = "Cross", .label = "loop", .accepts = {}, .prepare = cross_kernel});
}

OpFamily cross_family() { return {.ops = register_cross_ops, .kernels = register_cross_kernels}; }

Tensor cross(const Operand& a, const Operand& b, CrossOptions options, Site site) {
  return OpBuilder("Cross", options.name, site, {&a, &b})
      .input(a, "a", "T")
      .input(b, "b", "T")
      .output();
}

}  // namespace towerflow
