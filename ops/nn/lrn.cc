#include "ops/nn/lrn.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/nn/kernels.h"
#include "ops/nn/lrn_attrs.h"
#include "ops/nn/window_args.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

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

/// out[i] = x[i] + .. + x[i + window - 1].
void window_sums(const double* x, std::int64_t window, double* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = std::accumulate(x + i, x + i + window, 0.0);
}
void window_sums(const float* x, std::int64_t window, float* out, std::int64_t n) {
  simd::loops().window_sums(x, window, out, n);
}

/// Processes pixels, each of which is a row of channels, in blocks of rows: what follows the sums
/// over neighbours takes a loop for a whole block.
template <class T, bool kGradient>
class LrnKernel final : public CpuKernel {
 public:
  explicit LrnKernel(const KernelRequest& request)
      : attrs_(request.attributes<LrnAttrs>()),
        channels_(request.outputs[0].shape.size(3)),
        rows_(channels_ == 0 ? 0 : request.outputs[0].shape.elements() / channels_),
        block_rows_(std::max<std::int64_t>(1, kBlock / std::max<std::int64_t>(channels_, 1))),
        radius_(std::clamp<std::int64_t>(channels_ - 1, 0, attrs_.depth_radius)) {}
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices(0)) * slice_bytes();
  }
  int slices(int) const override { return row_slices(rows_, channels_); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    T* sums = reinterpret_cast<T*>(workspace + static_cast<std::size_t>(slice) * slice_bytes());
    std::fill_n(row_terms(sums), channels_ + 2 * radius_, T(0));
    const SliceRange part = slice_range(rows_, slices(0), slice);
    for (std::int64_t row = part.begin; row < part.end; row += block_rows_) {
      const std::int64_t rows = std::min(block_rows_, part.end - row);
      const std::int64_t at = row * channels_, n = rows * channels_;
      const T* x = in<T>(inputs, kGradient ? 1 : 0) + at;
      T* y = out<T>(outputs, 0) + at;
      norms(x, sums, rows);
      if constexpr (kGradient) {
        backward(in<T>(inputs, 0) + at, x, in<T>(inputs, 2) + at, sums, y, rows);
      } else {
        negative_power(T(attrs_.beta), sums, n);
        for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * sums[i];
      }
    }
  }

 private:
  static constexpr std::int64_t kBlock = 2048;

  /// The memory of a slice: the sums of a block, those of its gradient, and the terms of the sums
  /// of a row between zeros for the neighbours outside of it.
  T* row_terms(T* sums) const { return sums + 2 * block_rows_ * channels_; }
  std::size_t slice_bytes() const {
    const std::int64_t numbers = 2 * block_rows_ * channels_ + channels_ + 2 * radius_;
    return (static_cast<std::size_t>(numbers) * sizeof(T) + 63) / 64 * 64;
  }

  /// Computes s = bias + alpha times the sum of the squares of the neighbours.
  void norms(const T* x, T* sums, std::int64_t rows) const {
    T* terms = row_terms(sums) + radius_;
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* of_row = x + row * channels_;
      for (std::int64_t i = 0; i < channels_; ++i) terms[i] = of_row[i] * of_row[i];
      window_sums(terms - radius_, 2 * radius_ + 1, sums + row * channels_, channels_);
    }
    const T bias(attrs_.bias), alpha(attrs_.alpha);
    for (std::int64_t i = 0; i < rows * channels_; ++i) sums[i] = bias + alpha * sums[i];
  }

  /// dx[i] = dy[i] s[i]^-beta - 2 alpha beta x[i] sum over neighbours j of dy[j] y[j] / s[j].
  void backward(const T* dy, const T* x, const T* y, T* sums, T* dx, std::int64_t rows) const {
    const std::int64_t n = rows * channels_;
    T* around = sums + block_rows_ * channels_;
    T* terms = row_terms(sums) + radius_;
    for (std::int64_t row = 0, at = 0; row < rows; ++row, at += channels_) {
      for (std::int64_t i = 0; i < channels_; ++i) terms[i] = dy[at + i] * y[at + i] / sums[at + i];
      window_sums(terms - radius_, 2 * radius_ + 1, around + at, channels_);
    }
    negative_power(T(attrs_.beta), sums, n);
    const T factor = T(-2) * T(attrs_.alpha) * T(attrs_.beta);
    for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * sums[i] + factor * x[i] * around[i];
  }

  LrnAttrs attrs_;
  std::int64_t channels_, rows_, block_rows_, radius_;
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
