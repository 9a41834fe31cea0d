#include "ops/math/l2_loss.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/simd/loops.h"

namespace towerflow {
namespace {

void l2_loss_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype != DType::float32 && dtype != DType::float64) {
    context.fail_type(
        fmt::format("Value passed to parameter 't' has DataType {} not in list of "
                    "allowed values: float32, float64",
                    dtype_name(dtype)));
  }
  context.add_output(dtype, Shape{});
}

std::vector<OptionalGradient> l2_loss_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  return {multiply(op.input(0), dense_gradient(dys[0], op.site()), {}, op.site())};
}

/// Phase 0 computes a partial sum for each slice, phase 1 adds them in slice order.
template <class T, bool kSimd>
class L2LossKernel final : public CpuKernel {
 public:
  explicit L2LossKernel(const KernelRequest& request)
      : elements_(request.inputs[0].shape.elements()), slices_(partial_slices(elements_)) {}
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices_) * sizeof(T);
  }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? slices_ : 1; }
  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    T* partials = reinterpret_cast<T*>(workspace);
    if (phase == 0) {
      const SliceRange part = slice_range(elements_, slices_, slice, 4096);
      partials[slice] = squares(static_cast<const T*>(inputs[0]) + part.begin, part.size());
      return;
    }
    T total = 0;
    for (int i = 0; i < slices_; ++i) total += partials[i];
    *static_cast<T*>(outputs[0]) = total / T(2);
  }

 private:
  static T squares(const T* x, std::int64_t n) {
    if constexpr (kSimd) {
      return simd::loops().sum_squares(x, n);
    } else {
      T sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
      return sum;
    }
  }
  std::int64_t elements_;
  int slices_;
};

}  // namespace

static void register_l2_loss_ops(OpRegistry& registry) {
  registry.add({.name = "L2Loss",
                .inputs = {"t: T"},
                .outputs = {"output: T"},
                .shape = l2_loss_shape,
                .gradient = l2_loss_gradient});
}

static void register_l2_loss_kernels(KernelTable& table) {
  table.add(
      {.op = "L2Loss",
       .label = "simd",
       .accepts =
           [](const KernelRequest& request) { return request.inputs[0].dtype == DType::float32; },
       .prepare =
           [](const KernelRequest& request) {
             return sliced_kernel(std::make_unique<L2LossKernel<float, true>>(request));
           }});
  table.add({.op = "L2Loss",
             .label = "reference",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return request.inputs[0].dtype == DType::float32
                          ? sliced_kernel(std::make_unique<L2LossKernel<float, false>>(request))
                          : sliced_kernel(std::make_unique<L2LossKernel<double, false>>(request));
             }});
}

OpFamily l2_loss_family() {
  return {.ops = register_l2_loss_ops, .kernels = register_l2_loss_kernels};
}

namespace nn {
Tensor l2_loss(const Operand& t, L2LossOptions options, Site site) {
  return OpBuilder("L2Loss", options.name, site, {&t}).input(t, "t").output();
}
}  // namespace nn

}  // namespace towerflow
