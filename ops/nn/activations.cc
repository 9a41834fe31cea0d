#include "ops/nn/activations.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/math/broadcast_loop.h"
#include "ops/nn/kernels.h"
#include "ops/nn/leaky_relu_attrs.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {
namespace {

void leaky_relu_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype != DType::float32 && dtype != DType::float64) {
    context.fail_type(fmt::format(
        "Value passed to parameter 'features' has DataType {}, which the op does not take",
        dtype_name(dtype)));
  }
  context.add_output(dtype, context.shape(0));
}

void leaky_relu_grad_shape(InferenceContext& context) {
  const auto merged = context.shape(0).merged(context.shape(1));
  if (!merged) fail_with_shapes(context, "Shapes must be equal");
  context.add_output(context.dtype(0), *merged);
}

/// Adds the gradient of leaky_relu: dy, times alpha where the features are not above zero.
Tensor leaky_relu_grad(const Operation& op, const Tensor& dy, const Tensor& features) {
  return dy.graph()
      .add({.op = "LeakyReluGrad",
            .name = "LeakyReluGrad",
            .inputs = {dy, features},
            .attrs = op.attrs().as<LeakyReluAttrs>(),
            .site = op.site()})
      .output(0);
}

std::vector<OptionalGradient> leaky_relu_gradient(const Operation& op,
                                                  const std::vector<OptionalGradient>& dys) {
  return {leaky_relu_grad(op, dense_gradient(dys[0], op.site()), op.input(0))};
}

std::vector<OptionalGradient> leaky_relu_grad_gradient(const Operation& op,
                                                       const std::vector<OptionalGradient>& dys) {
  const Tensor dx = leaky_relu_grad(op, dense_gradient(dys[0], op.site()), op.input(1));
  return {dx, zeros_like(op.input(1), {}, op.site())};
}

/// Multiplies input 0 by alpha where the features, input number `kFeatures`, are not above zero.
template <int kFeatures>
std::unique_ptr<PreparedKernel> leaky_relu_kernel(const KernelRequest& request) {
  const float alpha = request.attributes<LeakyReluAttrs>().alpha;
  const std::int64_t elements = request.inputs[0].shape.elements();
  std::vector<InPlacePair> in_place{{0, 0}};
  if (kFeatures != 0) in_place.push_back({0, kFeatures});
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return elementwise_kernel(
        elements,
        [alpha = static_cast<T>(alpha)](SliceRange range, const void* const* inputs,
                                        void* const* outputs) {
          const T* x = in<T>(inputs, 0);
          const T* features = in<T>(inputs, kFeatures);
          T* y = out<T>(outputs, 0);
          TOWERFLOW_INDEPENDENT
          for (std::int64_t i = range.begin; i < range.end; ++i) {
            const T scaled = alpha * x[i];
            y[i] = features[i] > T(0) ? x[i] : scaled;
          }
        },
        in_place);
  });
}

Tensor activation(const char* op, const Operand& features, const ActivationOptions& options,
                  Site site) {
  return OpBuilder(op, options.name, site, {&features}).input(features, "features").output();
}

}  // namespace

static void register_activation_ops(OpRegistry& registry) {
  registry.add({.name = "LeakyRelu",
                .inputs = {"features: T"},
                .outputs = {"activations: T"},
                .attrs = attributes<LeakyReluAttrs>(),
                .shape = leaky_relu_shape,
                .gradient = leaky_relu_gradient});
  registry.add({.name = "LeakyReluGrad",
                .inputs = {"gradients: T", "features: T"},
                .outputs = {"backprops: T"},
                .attrs = attributes<LeakyReluAttrs>(),
                .shape = leaky_relu_grad_shape,
                .gradient = leaky_relu_grad_gradient});
}

static void register_activation_kernels(KernelTable& table) {
  add_kernel(table, "LeakyRelu", "loop", 0, {DType::float32, DType::float64}, leaky_relu_kernel<0>);
  add_kernel(table, "LeakyReluGrad", "loop", 0, {DType::float32, DType::float64},
             leaky_relu_kernel<1>);
}

Tensor elu(const Operand& features, ActivationOptions options, Site site) {
  return activation("Elu", features, options, site);
}
Tensor selu(const Operand& features, ActivationOptions options, Site site) {
  return activation("Selu", features, options, site);
}
Tensor softplus(const Operand& features, ActivationOptions options, Site site) {
  return activation("Softplus", features, options, site);
}
Tensor softsign(const Operand& features, ActivationOptions options, Site site) {
  return activation("Softsign", features, options, site);
}
Tensor relu6(const Operand& features, ActivationOptions options, Site site) {
  return activation("Relu6", features, options, site);
}

Tensor leaky_relu(const Operand& features, float alpha, LeakyReluOptions options, Site site) {
  Graph& graph = graph_of(features);
  const NameScope scope(graph, options.name.empty() ? "LeakyRelu" : options.name, site);
  Tensor x = convert_operand(graph, features, "features", std::nullopt);
  if (is_integer(x.dtype())) x = cast(x, DType::float32, {}, site);
  return graph
      .add({.op = "LeakyRelu",
            .name = scope.name(),
            .inputs = {x},
            .attrs = LeakyReluAttrs{alpha},
            .site = site})
      .output(0);
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily activations_family() {
  return {.ops = nn::register_activation_ops, .kernels = nn::register_activation_kernels};
}
}  // namespace towerflow
