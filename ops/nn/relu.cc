#include "ops/nn/relu.h"

#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/nn/kernels.h"
#include "ops/nn/window_args.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

void relu_shape(InferenceContext& context) {
  require_dtype(context, 0, "features", kRealNumbers);
  context.add_output(context.dtype(0), context.shape(0));
}

void relu_grad_shape(InferenceContext& context) {
  const auto merged = context.shape(0).merged(context.shape(1));
  if (!merged) fail_with_shapes(context, "Shapes must be equal");
  context.add_output(context.dtype(0), *merged);
}

Tensor relu_grad(const Tensor& dy, const Tensor& features, Site site) {
  const Operand gradients(dy, site);
  return OpBuilder("ReluGrad", "", site, {&gradients})
      .input(gradients, "gradients")
      .input(features, "features")
      .output();
}

std::vector<OptionalGradient> relu_gradient(const Operation& op,
                                            const std::vector<OptionalGradient>& dys) {
  return {relu_grad(dense_gradient(dys[0], op.site()), op.output(0), op.site())};
}

/// The result depends on the features through a step function, whose derivative is zero.
std::vector<OptionalGradient> relu_grad_gradient(const Operation& op,
                                                 const std::vector<OptionalGradient>& dys) {
  const Tensor dx = relu_grad(dense_gradient(dys[0], op.site()), op.input(1), op.site());
  return {dx, zeros_like(op.input(1), {}, op.site())};
}

std::unique_ptr<PreparedKernel> simd_relu(const KernelRequest& request) {
  return elementwise_kernel(request.inputs[0].shape.elements(),
                            [](SliceRange range, const void* const* inputs, void* const* outputs) {
                              simd::loops().relu(in<float>(inputs, 0) + range.begin,
                                                 out<float>(outputs, 0) + range.begin,
                                                 range.size());
                            },
                            {{0, 0}});
}

std::unique_ptr<PreparedKernel> simd_relu_grad(const KernelRequest& request) {
  return elementwise_kernel(request.inputs[0].shape.elements(),
                            [](SliceRange range, const void* const* inputs, void* const* outputs) {
                              simd::loops().relu_grad(in<float>(inputs, 0) + range.begin,
                                                      in<float>(inputs, 1) + range.begin,
                                                      out<float>(outputs, 0) + range.begin,
                                                      range.size());
                            },
                            {{0, 0}, {0, 1}});
}

std::unique_ptr<PreparedKernel> reference_relu(const KernelRequest& request) {
  const std::int64_t elements = request.inputs[0].shape.elements();
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return elementwise_kernel(
        elements,
        [](SliceRange range, const void* const* inputs, void* const* outputs) {
          const T* x = in<T>(inputs, 0);
          T* y = out<T>(outputs, 0);
          for (std::int64_t i = range.begin; i < range.end; ++i) y[i] = x[i] <= T(0) ? T(0) : x[i];
        },
        {{0, 0}});
  });
}

std::unique_ptr<PreparedKernel> reference_relu_grad(const KernelRequest& request) {
  const std::int64_t elements = request.inputs[0].shape.elements();
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return elementwise_kernel(
        elements,
        [](SliceRange range, const void* const* inputs, void* const* outputs) {
          const T* dy = in<T>(inputs, 0);
          const T* x = in<T>(inputs, 1);
          T* dx = out<T>(outputs, 0);
          for (std::int64_t i = range.begin; i < range.end; ++i)
            dx[i] = static_cast<T>(dy[i] * (x[i] > T(0) ? T(1) : T(0)));
        },
        {{0, 0}, {0, 1}});
  });
}

}  // namespace

static void register_relu_ops(OpRegistry& registry) {
  registry.add({.name = "Relu",
                .inputs = {"features: T"},
                .outputs = {"activations: T"},
                .shape = relu_shape,
                .gradient = relu_gradient,
                .elementwise = elementwise_always});
  registry.add({.name = "ReluGrad",
                .inputs = {"gradients: T", "features: T"},
                .outputs = {"backprops: T"},
                .shape = relu_grad_shape,
                .gradient = relu_grad_gradient,
                .elementwise = elementwise_always});
}

static void register_relu_kernels(KernelTable& table) {
  add_kernel(table, "Relu", "simd", 0, {DType::float32}, simd_relu);
  add_kernel(table, "Relu", "reference", 0, kRealNumbers, reference_relu);
  add_kernel(table, "ReluGrad", "simd", 0, {DType::float32}, simd_relu_grad);
  add_kernel(table, "ReluGrad", "reference", 0, kRealNumbers, reference_relu_grad);
}

Tensor relu(const Operand& features, ReluOptions options, Site site) {
  return OpBuilder("Relu", options.name, site, {&features}).input(features, "features").output();
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily relu_family() {
  return {.ops = nn::register_relu_ops, .kernels = nn::register_relu_kernels};
}
}  // namespace towerflow
