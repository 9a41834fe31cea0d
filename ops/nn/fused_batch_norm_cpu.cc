#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/error.h"
#include "ops/family.h"
#include "ops/nn/fused_batch_norm_attrs.h"
#include "ops/nn/kernels.h"
#include "ops/nn/window_args.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

/// Images or volumes as [outer, channels, inner]; inner is 1 if channels come last.
struct ChannelDims {
  std::int64_t outer = 1, channels = 1, inner = 1;

  ChannelDims(const Shape& x, VolumeFormat format) : channels(x.size(volume_channel_axis(format))) {
    for (std::size_t i = 0; i < volume_channel_axis(format); ++i) outer *= x.size(i);
    for (std::size_t i = volume_channel_axis(format) + 1; i < x.rank(); ++i) inner *= x.size(i);
  }
  /// Returns the number of elements of a channel.
  std::int64_t count() const { return outer * inner; }
  std::int64_t elements() const { return count() * channels; }
};

/// Computes scale / sqrt(variance + epsilon) for one channel.
template <class T>
T batch_norm_factor(T scale, T variance, float epsilon) {
  return scale / std::sqrt(variance + static_cast<T>(epsilon));
}

/// Computes the statistics that FusedBatchNormV3 returns for one channel.
template <class T>
struct BatchStatistics {
  T running_mean, running_var, mean, variance;

  BatchStatistics(double batch_mean, double squares, std::int64_t count, float factor, T old_mean,
                  T old_variance)
      : mean(T(0)), variance(T(0)) {
    if (count == 0) {
      running_mean = running_var = std::numeric_limits<T>::quiet_NaN();
      return;
    }
    const double n = static_cast<double>(count);
    mean = static_cast<T>(batch_mean);
    variance = static_cast<T>(squares / n);
    running_mean = mean;
    running_var = static_cast<T>(squares / std::max(n - 1, 1.0));
    if (factor == 1) return;
    const T weight = static_cast<T>(factor);
    running_mean = (1 - weight) * old_mean + weight * running_mean;
    running_var = (1 - weight) * old_variance + weight * running_var;
  }
};

void check_running_statistics(const KernelRequest& request, std::int64_t channels) {
  const auto& attrs = request.attributes<BatchNormAttrs>();
  if (attrs.norm.is_training && attrs.exponential_avg_factor == 1) return;
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    if (request.inputs[i].shape == Shape{channels}) continue;
    throw errors::InvalidArgumentError(fmt::format(
        "The running {} of a batch normalization has the shape {}, but there are {} channels.",
        i == 3 ? "mean" : "variance", request.inputs[i].shape.text(), channels));
  }
}

// -------------------------------------------------------------------------------------- reference

/// Calls `visit(element)` for the elements of a channel.
template <class Visit>
void for_channel(const ChannelDims& dims, std::int64_t channel, const Visit& visit) {
  for (std::int64_t n = 0; n < dims.outer; ++n) {
    const std::int64_t first = (n * dims.channels + channel) * dims.inner;
    for (std::int64_t i = 0; i < dims.inner; ++i) visit(first + i);
  }
}

template <class T>
void reference_batch_norm(const ChannelDims& dims, const BatchNormAttrs& attrs,
                          const LaunchArgs& args) {
  const T* x = args.input<T>(0);
  const double n = static_cast<double>(dims.count());
  for (std::int64_t c = 0; c < dims.channels; ++c) {
    T mean, variance;
    if (attrs.norm.is_training) {
      double sum = 0, squares = 0;
      for_channel(dims, c, [&](std::int64_t i) { sum += static_cast<double>(x[i]); });
      const double center = sum / n;
      for_channel(dims, c, [&](std::int64_t i) {
        squares += (static_cast<double>(x[i]) - center) * (static_cast<double>(x[i]) - center);
      });
      const bool keeps = attrs.exponential_avg_factor != 1;
      const BatchStatistics<T> found(center, squares, dims.count(), attrs.exponential_avg_factor,
                                     keeps ? args.input<T>(3)[c] : T(0),
                                     keeps ? args.input<T>(4)[c] : T(0));
      args.output<T>(1)[c] = found.running_mean;
      args.output<T>(2)[c] = found.running_var;
      mean = found.mean;
      variance = found.variance;
    } else {
      mean = args.output<T>(1)[c] = args.input<T>(3)[c];
      variance = args.output<T>(2)[c] = args.input<T>(4)[c];
    }
    args.output<T>(3)[c] = mean;
    args.output<T>(4)[c] = variance;
    const T factor = batch_norm_factor(args.input<T>(1)[c], variance, attrs.norm.epsilon);
    const T offset = args.input<T>(2)[c];
    for_channel(dims, c,
                [&](std::int64_t i) { args.output<T>(0)[i] = (x[i] - mean) * factor + offset; });
  }
}

template <class T>
void reference_batch_norm_grad(const ChannelDims& dims, const BatchNormGradAttrs& attrs,
                               const LaunchArgs& args) {
  const T* dy = args.input<T>(0);
  const T* x = args.input<T>(1);
  const double n = static_cast<double>(dims.count());
  for (std::int64_t c = 0; c < dims.channels; ++c) {
    const T mean = args.input<T>(3)[c], variance = args.input<T>(4)[c];
    const double r = static_cast<double>(batch_norm_factor(T(1), variance, attrs.epsilon));
    const T factor = static_cast<T>(r) * static_cast<T>(args.input<float>(2)[c]);
    double sum = 0, products = 0;
    for_channel(dims, c, [&](std::int64_t i) {
      sum += static_cast<double>(dy[i]);
      products += static_cast<double>(dy[i]) * static_cast<double>(x[i] - mean);
    });
    args.output<T>(1)[c] = static_cast<T>(products * r);
    args.output<T>(2)[c] = static_cast<T>(sum);
    const T shift = attrs.is_training ? static_cast<T>(sum / n) : T(0);
    const T slope = attrs.is_training ? static_cast<T>(products / n * r * r) : T(0);
    for_channel(dims, c, [&](std::int64_t i) {
      // In inference it does not depend on x and mean, which may be NaN.
      const T centred = attrs.is_training ? x[i] - mean : T(0);
      args.output<T>(0)[i] = (dy[i] - shift - centred * slope) * factor;
    });
  }
}

/// Makes a kernel of `reference.operator()<T>(args)`, where T is the type of `dtype`.
template <class Reference>
std::unique_ptr<PreparedKernel> batch_norm_function(DType dtype, Reference reference) {
  if (dtype == DType::float32) {
    return function_kernel(
        [reference](const LaunchArgs& args) { reference.template operator()<float>(args); },
        {.may_fail = false});
  }
  return function_kernel(
      [reference](const LaunchArgs& args) { reference.template operator()<double>(args); },
      {.may_fail = false});
}

std::unique_ptr<PreparedKernel> reference_batch_norm_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<BatchNormAttrs>();
  const ChannelDims dims(request.inputs[0].shape, attrs.norm.format);
  check_running_statistics(request, dims.channels);
  return batch_norm_function(request.inputs[0].dtype,
                             [dims, attrs]<class T>(const LaunchArgs& args) {
                               reference_batch_norm<T>(dims, attrs, args);
                             });
}

std::unique_ptr<PreparedKernel> reference_batch_norm_grad_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<BatchNormGradAttrs>();
  const ChannelDims dims(request.inputs[1].shape, attrs.format);
  return batch_norm_function(request.inputs[1].dtype,
                             [dims, attrs]<class T>(const LaunchArgs& args) {
                               reference_batch_norm_grad<T>(dims, attrs, args);
                             });
}

// ------------------------------------------------------------------------------------------- fast

constexpr std::int64_t kLanes = 64;  // columns in which the loops are fast

/// Moments of one channel, or the sums of its gradient, whose two numbers simply add up.
struct ChannelSums {
  double first = 0, second = 0;
  double count = 0;

  void add_moments(double mean, double squares, double rows) {
    if (rows == 0) return;
    const double all = count + rows, off = mean - first;
    first += off * (rows / all);
    second += squares + off * off * (count * (rows / all));
    count = all;
  }
  void add_sums(double sum, double products, double rows) {
    first += sum;
    second += products;
    count += rows;
  }
};

/// Base of the forward and the backward kernel. Phase 0 sums over parts of the batch, phase 1 joins
/// the sums of each channel and derives the `kParams` numbers that phase 2 maps elements with.
///
/// If channels come last, rows of few channels are joined to rows of about 64 columns, and each
/// slice of phase 0 has sums of its own for each column. If channels come first, each slice sums
/// some of the channels, in 64 lanes.
class ChannelKernel : public CpuKernel {
 public:
  static constexpr std::size_t kMaxParams = 5;

  ChannelKernel(const ChannelDims& dims, bool sums)
      : dims_(dims), first_(dims.inner != 1), sums_(sums) {
    if (first_) {
      repeat_ = 1;
      slices_ = sums ? row_slices(dims.channels, dims.count()) : 0;
    } else {
      const std::int64_t channels = std::max<std::int64_t>(dims.channels, 1);
      repeat_ =
          std::clamp<std::int64_t>(kLanes / channels, 1, std::max<std::int64_t>(1, dims.outer));
      rows_ = dims.outer / repeat_;
      rest_ = dims.outer % repeat_ * dims.channels;
      slices_ = sums ? static_cast<int>(std::min<std::int64_t>(partial_slices(dims.elements()),
                                                               std::max<std::int64_t>(1, rows_)))
                     : 0;
    }
    columns_ = repeat_ * dims.channels;
    states_ = !sums ? 0 : first_ ? 1 : slices_ + 1;  // the last one is that of the rest
    params_ = layout_.add(kMaxParams * static_cast<std::size_t>(columns_) * sizeof(float));
    totals_ = layout_.add(2 * static_cast<std::size_t>(states_ * columns_) * sizeof(double));
  }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  int phases() const override { return sums_ ? 3 : 2; }
  int slices(int phase) const override {
    const int stage = sums_ ? phase : phase + 1;
    if (stage == 0) return slices_;
    if (stage == 1) return 1;
    return first_ ? row_slices(dims_.outer * dims_.channels, dims_.inner)
                  : row_slices(std::max<std::int64_t>(rows_, 1), columns_);
  }
  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const final {
    float* params = reinterpret_cast<float*>(workspace + params_);
    double* totals = reinterpret_cast<double*>(workspace + totals_);
    const int stage = sums_ ? phase : phase + 1;
    if (stage == 0) return add_up(slice, inputs, totals);
    if (stage == 2) return map_slice(slice, slices(phase), inputs, outputs, params);
    for (std::int64_t c = 0; c < dims_.channels; ++c) {
      float derived[kMaxParams] = {};
      derive(c, sums_ ? joined(c, totals) : ChannelSums(), inputs, outputs, derived);
      for (std::size_t p = 0; p < kMaxParams; ++p) {
        for (std::int64_t k = 0; k < repeat_; ++k) {
          params[static_cast<std::int64_t>(p) * columns_ + k * dims_.channels + c] = derived[p];
        }
      }
    }
  }

 protected:
  /// Elements [rows, columns] from offset `at` on. Their channels are the columns, counted modulo
  /// the number of channels, or all are of channel `channel`.
  struct Block {
    std::int64_t at, rows, columns, channel;
    std::int64_t before;  ///< rows that the sums contain already
  };
  virtual void add(const Block& block, const void* const* inputs, double* first,
                   double* second) const = 0;
  virtual void join(ChannelSums& sums, double first, double second, double rows) const = 0;
  virtual void derive(std::int64_t channel, const ChannelSums& sums, const void* const* inputs,
                      void* const* outputs, float* params) const = 0;
  /// `params` are rows of at least `block.columns` numbers.
  virtual void map(const Block& block, const void* const* inputs, void* const* outputs,
                   const float* const* params) const = 0;

  const ChannelDims dims_;

 private:
  double* state(double* totals, int index) const { return totals + 2 * index * columns_; }

  void add_up(int slice, const void* const* inputs, double* totals) const {
    if (first_) {
      const SliceRange part = slice_range(dims_.channels, slices_, slice);
      for (std::int64_t c = part.begin; c < part.end; ++c) add_channel(c, inputs, totals);
      return;
    }
    const SliceRange part = slice_range(rows_, slices_, slice);
    double* own = state(totals, slice);
    std::fill_n(own, 2 * columns_, 0.0);
    add({part.begin * columns_, part.size(), columns_, 0, 0}, inputs, own, own + columns_);
    if (slice != slices_ - 1) return;
    double* rest = state(totals, slices_);
    std::fill_n(rest, 2 * columns_, 0.0);
    if (rest_ > 0) add({rows_ * columns_, 1, rest_, 0, 0}, inputs, rest, rest + columns_);
  }

  void add_channel(std::int64_t channel, const void* const* inputs, double* totals) const {
    const std::int64_t rows = dims_.inner / kLanes, rest = dims_.inner % kLanes;
    double whole[2 * kLanes] = {}, part[2 * kLanes] = {};
    for (std::int64_t n = 0; n < dims_.outer; ++n) {
      const std::int64_t at = (n * dims_.channels + channel) * dims_.inner;
      if (rows > 0) add({at, rows, kLanes, channel, n * rows}, inputs, whole, whole + kLanes);
      if (rest > 0) add({at + rows * kLanes, 1, rest, channel, n}, inputs, part, part + kLanes);
    }
    ChannelSums sums;
    for (std::int64_t i = 0; i < kLanes; ++i) {
      join(sums, whole[i], whole[kLanes + i], static_cast<double>(rows * dims_.outer));
    }
    for (std::int64_t i = 0; i < rest; ++i) {
      join(sums, part[i], part[kLanes + i], static_cast<double>(dims_.outer));
    }
    totals[channel] = sums.first;
    totals[columns_ + channel] = sums.second;
  }

  ChannelSums joined(std::int64_t channel, double* totals) const {
    ChannelSums sums;
    if (first_) {
      join(sums, totals[channel], totals[columns_ + channel], static_cast<double>(dims_.count()));
      return sums;
    }
    for (int i = 0; i < states_; ++i) {
      const double* own = state(totals, i);
      const bool is_rest = i == slices_;
      const std::int64_t rows = is_rest ? 1 : slice_range(rows_, slices_, i).size();
      const std::int64_t columns = is_rest ? rest_ : columns_;
      for (std::int64_t column = channel; column < columns; column += dims_.channels) {
        join(sums, own[column], own[columns_ + column], static_cast<double>(rows));
      }
    }
    return sums;
  }

  void map_slice(int slice, int count, const void* const* inputs, void* const* outputs,
                 const float* params) const {
    const float* rows_of_params[kMaxParams];
    if (!first_) {
      for (std::size_t p = 0; p < kMaxParams; ++p) {
        rows_of_params[p] = params + static_cast<std::int64_t>(p) * columns_;
      }
      const SliceRange part = slice_range(rows_, count, slice);
      map({part.begin * columns_, part.size(), columns_, 0, 0}, inputs, outputs, rows_of_params);
      if (slice == count - 1 && rest_ > 0)
        map({rows_ * columns_, 1, rest_, 0, 0}, inputs, outputs, rows_of_params);
      return;
    }
    float lanes[kMaxParams][kLanes];
    const SliceRange part = slice_range(dims_.outer * dims_.channels, count, slice);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const std::int64_t channel = row % dims_.channels;
      for (std::size_t p = 0; p < kMaxParams; ++p) {
        std::fill_n(lanes[p], kLanes, params[static_cast<std::int64_t>(p) * columns_ + channel]);
        rows_of_params[p] = lanes[p];
      }
      const std::int64_t at = row * dims_.inner, rows = dims_.inner / kLanes;
      map({at, rows, kLanes, channel, 0}, inputs, outputs, rows_of_params);
      map({at + rows * kLanes, 1, dims_.inner % kLanes, channel, 0}, inputs, outputs,
          rows_of_params);
    }
  }

  const bool first_, sums_;
  std::int64_t repeat_ = 1, columns_ = 0, rows_ = 0, rest_ = 0;
  int slices_ = 0, states_ = 0;
  WorkspaceLayout layout_;
  std::size_t params_ = 0, totals_ = 0;
};

/// Params: mean, factor, offset.
class BatchNormKernel final : public ChannelKernel {
 public:
  BatchNormKernel(const ChannelDims& dims, const BatchNormAttrs& attrs)
      : ChannelKernel(dims, attrs.norm.is_training), attrs_(attrs) {}

 private:
  void add(const Block& b, const void* const* inputs, double* first,
           double* second) const override {
    simd::loops().normalization.moments(in<float>(inputs, 0) + b.at, b.rows, b.columns, b.before,
                                        first, second);
  }
  void join(ChannelSums& sums, double first, double second, double rows) const override {
    sums.add_moments(first, second, rows);
  }
  void derive(std::int64_t c, const ChannelSums& sums, const void* const* inputs,
              void* const* outputs, float* params) const override {
    const auto at = static_cast<std::size_t>(c);
    float mean, variance;
    if (attrs_.norm.is_training) {
      const bool keeps = attrs_.exponential_avg_factor != 1;
      const BatchStatistics<float> found(
          sums.first, sums.second, dims_.count(), attrs_.exponential_avg_factor,
          keeps ? in<float>(inputs, 3)[at] : 0, keeps ? in<float>(inputs, 4)[at] : 0);
      out<float>(outputs, 1)[at] = found.running_mean;
      out<float>(outputs, 2)[at] = found.running_var;
      mean = found.mean;
      variance = found.variance;
    } else {
      mean = out<float>(outputs, 1)[at] = in<float>(inputs, 3)[at];
      variance = out<float>(outputs, 2)[at] = in<float>(inputs, 4)[at];
    }
    out<float>(outputs, 3)[at] = params[0] = mean;
    out<float>(outputs, 4)[at] = variance;
    params[1] = batch_norm_factor(in<float>(inputs, 1)[at], variance, attrs_.norm.epsilon);
    params[2] = in<float>(inputs, 2)[at];
  }
  void map(const Block& b, const void* const* inputs, void* const* outputs,
           const float* const* params) const override {
    simd::loops().normalization.normalize(in<float>(inputs, 0) + b.at, params[0], params[1],
                                          params[2], out<float>(outputs, 0) + b.at, b.rows,
                                          b.columns);
  }

  BatchNormAttrs attrs_;
};

/// Params: mean, shift, slope, factor.
class BatchNormGradKernel final : public ChannelKernel {
 public:
  BatchNormGradKernel(const ChannelDims& dims, const BatchNormGradAttrs& attrs)
      : ChannelKernel(dims, true), attrs_(attrs) {}

 private:
  void add(const Block& b, const void* const* inputs, double* first,
           double* second) const override {
    const float* mean = in<float>(inputs, 3);
    float lanes[kLanes];
    if (dims_.inner != 1) {
      std::fill_n(lanes, kLanes, mean[b.channel]);
      mean = lanes;
    } else if (b.columns != dims_.channels) {  // several rows of few channels
      for (std::int64_t i = 0; i < b.columns; ++i) lanes[i] = mean[i % dims_.channels];
      mean = lanes;
    }
    simd::loops().normalization.gradient_sums(in<float>(inputs, 0) + b.at,
                                              in<float>(inputs, 1) + b.at, mean, b.rows, b.columns,
                                              first, second);
  }
  void join(ChannelSums& sums, double first, double second, double rows) const override {
    sums.add_sums(first, second, rows);
  }
  void derive(std::int64_t c, const ChannelSums& sums, const void* const* inputs,
              void* const* outputs, float* params) const override {
    const auto at = static_cast<std::size_t>(c);
    const double n = static_cast<double>(dims_.count());
    const double r =
        static_cast<double>(batch_norm_factor(1.0F, in<float>(inputs, 4)[at], attrs_.epsilon));
    out<float>(outputs, 1)[at] = static_cast<float>(sums.second * r);
    out<float>(outputs, 2)[at] = static_cast<float>(sums.first);
    params[0] = attrs_.is_training ? in<float>(inputs, 3)[at] : 0;
    params[1] = attrs_.is_training ? static_cast<float>(sums.first / n) : 0;
    params[2] = attrs_.is_training ? static_cast<float>(sums.second / n * r * r) : 0;
    params[3] = static_cast<float>(r) * in<float>(inputs, 2)[at];
  }
  void map(const Block& b, const void* const* inputs, void* const* outputs,
           const float* const* params) const override {
    // In inference the gradient does not depend on x, which may be NaN: its slope is 0.
    const float* x = in<float>(inputs, attrs_.is_training ? 1 : 0);
    simd::loops().normalization.gradient(in<float>(inputs, 0) + b.at, x + b.at, params[0],
                                         params[1], params[2], params[3],
                                         out<float>(outputs, 0) + b.at, b.rows, b.columns);
  }

  BatchNormGradAttrs attrs_;
};

std::unique_ptr<PreparedKernel> fast_batch_norm_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<BatchNormAttrs>();
  const ChannelDims dims(request.inputs[0].shape, attrs.norm.format);
  check_running_statistics(request, dims.channels);
  return sliced_kernel(std::make_unique<BatchNormKernel>(dims, attrs), {{0, 0}});
}

std::unique_ptr<PreparedKernel> fast_batch_norm_grad_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<BatchNormGradAttrs>();
  const ChannelDims dims(request.inputs[1].shape, attrs.format);
  return sliced_kernel(std::make_unique<BatchNormGradKernel>(dims, attrs), {{0, 0}, {0, 1}});
}

}  // namespace

static void register_fused_batch_norm_kernels(KernelTable& table) {
  add_kernel(table, "FusedBatchNormV3", "simd", 0, {DType::float32}, fast_batch_norm_kernel);
  add_kernel(table, "FusedBatchNormV3", "reference", 0, kFloats, reference_batch_norm_kernel);
  add_kernel(table, "FusedBatchNormGradV3", "simd", 1, {DType::float32},
             fast_batch_norm_grad_kernel);
  add_kernel(table, "FusedBatchNormGradV3", "reference", 1, kFloats,
             reference_batch_norm_grad_kernel);
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily fused_batch_norm_cpu_family() {
  return {.kernels = nn::register_fused_batch_norm_kernels};
}
}  // namespace towerflow
