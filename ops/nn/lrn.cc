#include "ops/nn/lrn.h"

#include <algorithm>
#include <cmath>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/nn/kernels.h"
#include "ops/nn/window_args.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

struct LrnAttrs {
  std::int64_t depth_radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5F;
  static constexpr auto fields = std::tuple{
      attr::field("depth_radius", &LrnAttrs::depth_radius), attr::field("bias", &LrnAttrs::bias),
      attr::field("alpha", &LrnAttrs::alpha), attr::field("beta", &LrnAttrs::beta)};
};

/// All operands are images of one shape, which is also that of the result.
void lrn_shape(InferenceContext& context) {
  require_dtype(context, 0, "input", {DType::float32, DType::float64});
  Shape shape = Shape::of_rank(4);
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    require_rank(context, i, 4);
    if (const auto merged = shape.merged(context.shape(i)))
      shape = *merged;
    else
      fail_with_shapes(context, "Dimensions must be equal");
  }
  context.add_output(context.dtype(0), shape);
}

std::vector<OptionalGradient> lrn_gradient(const Operation& op,
                                           const std::vector<OptionalGradient>& dys) {
  return {op.graph()
              .add({.op = "LRNGrad",
                    .name = "LRNGrad",
                    .inputs = {dense_gradient(dys[0], op.site()), op.input(0), op.output(0)},
                    .attrs = op.attrs(),
                    .site = op.site()})
              .output(0)};
}

/// Computes s[i] = s[i]^-beta.
void negative_power(double beta, double* s, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) s[i] = std::pow(s[i], -beta);
}
void negative_power(float beta, float* s, std::int64_t n) {
  const simd::Loops& loops = simd::loops();
  if (beta == 0.5F) return loops.rsqrt(s, s, n);
  loops.log(s, s, n);
  for (std::int64_t i = 0; i < n; ++i) s[i] *= -beta;
  loops.exp(s, s, n);
}

/// Processes pixels, each of which is a row of channels. Each slice has a workspace row for the
/// sums over neighbours.
template <class T, bool kGradient>
class LrnKernel final : public CpuKernel {
 public:
  explicit LrnKernel(const KernelRequest& request)
      : attrs_(request.attributes<LrnAttrs>()),
        channels_(request.outputs[0].shape.size(3)),
        rows_(channels_ == 0 ? 0 : request.outputs[0].shape.elements() / channels_) {}
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices(0)) * row_bytes();
  }
  int slices(int) const override { return row_slices(rows_, channels_); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    T* sums = reinterpret_cast<T*>(workspace + static_cast<std::size_t>(slice) * row_bytes());
    const SliceRange part = slice_range(rows_, slices(0), slice);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const std::int64_t at = row * channels_;
      T* y = out<T>(outputs, 0) + at;
      if constexpr (kGradient) {
        backward(in<T>(inputs, 0) + at, in<T>(inputs, 1) + at, in<T>(inputs, 2) + at, sums, y);
      } else {
        norms(in<T>(inputs, 0) + at, sums);
        negative_power(T(attrs_.beta), sums, channels_);
        for (std::int64_t i = 0; i < channels_; ++i) y[i] = in<T>(inputs, 0)[at + i] * sums[i];
      }
    }
  }

 private:
  std::size_t row_bytes() const {
    return (static_cast<std::size_t>(2 * channels_) * sizeof(T) + 63) / 64 * 64;
  }

  /// Computes sums[i] = the sum of terms(j) over the neighbours j of i.
  template <class Terms>
  void add_neighbours(const Terms& terms, T* sums) const {
    std::fill_n(sums, channels_, T(0));
    const std::int64_t radius = std::min(attrs_.depth_radius, channels_ - 1);
    for (std::int64_t shift = -radius; shift <= radius; ++shift) {
      const std::int64_t begin = std::max<std::int64_t>(0, -shift);
      const std::int64_t end = std::min(channels_, channels_ - shift);
      for (std::int64_t i = begin; i < end; ++i) sums[i] += terms(i + shift);
    }
  }

  void norms(const T* x, T* sums) const {
    add_neighbours([x](std::int64_t j) { return x[j] * x[j]; }, sums);
    for (std::int64_t i = 0; i < channels_; ++i)
      sums[i] = T(attrs_.bias) + T(attrs_.alpha) * sums[i];
  }

  /// dx[i] = dy[i] s[i]^-beta - 2 alpha beta x[i] sum over neighbours j of dy[j] y[j] / s[j].
  void backward(const T* dy, const T* x, const T* y, T* sums, T* dx) const {
    norms(x, sums);
    T* around = sums + channels_;
    add_neighbours([=](std::int64_t j) { return dy[j] * y[j] / sums[j]; }, around);
    negative_power(T(attrs_.beta), sums, channels_);
    const T factor = T(-2) * T(attrs_.alpha) * T(attrs_.beta);
    for (std::int64_t i = 0; i < channels_; ++i) {
      dx[i] = dy[i] * sums[i] + factor * x[i] * around[i];
    }
  }

  LrnAttrs attrs_;
  std::int64_t channels_, rows_;
};

template <bool kGradient>
std::unique_ptr<PreparedKernel> lrn_kernel(const KernelRequest& request) {
  if (request.inputs[0].dtype == DType::float32)
    return sliced_kernel(std::make_unique<LrnKernel<float, kGradient>>(request));
  return sliced_kernel(std::make_unique<LrnKernel<double, kGradient>>(request));
}

}  // namespace

static void register_lrn_ops(OpRegistry& registry) {
  registry.add({.name = "LRN",
                .inputs = {"input: T"},
                .outputs = {"output: T"},
                .attrs = attributes<LrnAttrs>(),
                .shape = lrn_shape,
                .gradient = lrn_gradient});
  registry.add({.name = "LRNGrad",
                .inputs = {"input_grads: T", "input_image: T", "output_image: T"},
                .outputs = {"output: T"},
                .attrs = attributes<LrnAttrs>(),
                .shape = lrn_shape,
                .gradient = NoGradient{"TensorFlow has no second derivative of it", false}});
}

static void register_lrn_kernels(KernelTable& table) {
  table.add({.op = "LRN", .label = "rows", .accepts = {}, .prepare = lrn_kernel<false>});
  table.add({.op = "LRNGrad", .label = "rows", .accepts = {}, .prepare = lrn_kernel<true>});
}

Tensor lrn(const Operand& input, int depth_radius, LrnOptions options, Site site) {
  return OpBuilder("LRN", options.name, site, {&input})
      .input(input, "input")
      .attrs(LrnAttrs{depth_radius, static_cast<float>(options.bias),
                      static_cast<float>(options.alpha), static_cast<float>(options.beta)})
      .output();
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily lrn_family() { return {.ops = nn::register_lrn_ops, .kernels = nn::register_lrn_kernels}; }
}  // namespace towerflow
