#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/diagonal.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/range_kernel.h"

namespace towerflow {
namespace {

void require_diag_number(const InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype != DType::float32 && dtype != DType::float64 && !is_index(dtype)) {
    context.fail_type(
        fmt::format("Value passed to parameter has DataType {} not in list of allowed "
                    "values: float32, float64, int32, int64",
                    dtype_name(dtype)));
  }
}

void diag_shape(InferenceContext& context) {
  require_diag_number(context);
  const Shape& diagonal = context.shape(0);
  if (!diagonal.has_rank()) return context.add_output(context.dtype(0), Shape::unknown());
  if (diagonal.rank() == 0) context.fail("Shape must be at least rank 1 but is rank 0: a diagonal");
  context.add_output(context.dtype(0), diagonal.concatenated(diagonal));
}

void diag_part_shape(InferenceContext& context) {
  require_diag_number(context);
  const Shape& input = context.shape(0);
  if (!input.has_rank()) return context.add_output(context.dtype(0), Shape::unknown());
  const auto half = static_cast<std::ptrdiff_t>(input.rank() / 2);
  const auto middle = input.dims().begin() + half;
  const Shape first(std::vector<Dim>(input.dims().begin(), middle));
  const auto merged = first.merged(Shape(std::vector<Dim>(middle, input.dims().end())));
  if (input.rank() % 2 != 0 || input.rank() == 0 || !merged) {
    context.fail(
        fmt::format("a tensor with a diagonal has an even number of dimensions, and the "
                    "first half of them are equal to the second half, unlike those of {}",
                    input.text()));
  }
  context.add_output(context.dtype(0), *merged);
}

std::unique_ptr<PreparedKernel> diag_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const std::int64_t count = request.inputs[0].shape.elements();
  const DType dtype = request.inputs[0].dtype;
  return rows_kernel(count, count,
                     [=](SliceRange part, const void* const* inputs, void* const* outputs) {
                       dispatch_copyable(dtype, [&]<class T>() {
                         T* to = static_cast<T*>(outputs[0]);
                         std::fill(to + part.begin * count, to + part.end * count, T());
                         for (std::int64_t i = part.begin; i < part.end; ++i) {
                           to[i * (count + 1)] = static_cast<const T*>(inputs[0])[i];
                         }
                       });
                     });
}

std::unique_ptr<PreparedKernel> diag_part_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const std::int64_t count = request.outputs[0].shape.elements();
  const DType dtype = request.inputs[0].dtype;
  return elementwise_kernel(
      count, [=](SliceRange part, const void* const* inputs, void* const* outputs) {
        dispatch_copyable(dtype, [&]<class T>() {
          for (std::int64_t i = part.begin; i < part.end; ++i) {
            static_cast<T*>(outputs[0])[i] = static_cast<const T*>(inputs[0])[i * (count + 1)];
          }
        });
      });
}

std::vector<OptionalGradient> diag_gradient(const Operation& op,
                                            const std::vector<OptionalGradient>& dys) {
  return {diag_part(dense_gradient(dys[0], op.site()), {}, op.site())};
}
std::vector<OptionalGradient> diag_part_gradient(const Operation& op,
                                                 const std::vector<OptionalGradient>& dys) {
  return {diag(dense_gradient(dys[0], op.site()), {}, op.site())};
}

}  // namespace

static void register_diag_ops(OpRegistry& registry) {
  registry.add({.name = "Diag",
                .inputs = {"diagonal: T"},
                .outputs = {"output: T"},
                .shape = diag_shape,
                .gradient = diag_gradient});
  registry.add({.name = "DiagPart",
                .inputs = {"input: T"},
                .outputs = {"diagonal: T"},
                .shape = diag_part_shape,
                .gradient = diag_part_gradient});
}

static void register_diag_kernels(KernelTable& table) {
  table.add({.op = "Diag", .label = "rows", .accepts = {}, .prepare = diag_kernel});
  table.add({.op = "DiagPart", .label = "loop", .accepts = {}, .prepare = diag_part_kernel});
}

OpFamily diag_family() { return {.ops = register_diag_ops, .kernels = register_diag_kernels}; }

Tensor diag(const Operand& diagonal, DiagOptions options, Site site) {
  return OpBuilder("Diag", options.name, site, {&diagonal}).input(diagonal, "diagonal").output();
}

Tensor diag_part(const Operand& input, DiagOptions options, Site site) {
  return OpBuilder("DiagPart", options.name, site, {&input}).input(input, "input").output();
}

}  // namespace towerflow
