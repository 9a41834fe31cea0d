#include <algorithm>

#include "ops/simd/kernels.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

std::size_t floats(std::int64_t count) {
  return (static_cast<std::size_t>(count) * sizeof(float) + 63) / 64 * 64;
}
std::int64_t point_elements(const ConvGeometry& g) {
  return kWinogradPoints * g.in_channels * g.out_channels;
}
// Slices of a loop over input channels of the filter.
int filter_slices(const ConvGeometry& g) {
  constexpr std::int64_t kPerSlice = 1 << 17;  // elements at the points
  return static_cast<int>(std::clamp<std::int64_t>(point_elements(g) / kPerSlice, 1, 8));
}

// y = conv2d(x, filter), or with the filter turned and its channels exchanged the gradient of x,
// which is such a convolution of dy: `g` describes the convolution that is computed.
//
// Phase 0 brings the filter to the points, phase 1 does slices of images. Workspace: the filter at
// the points, the exchanged filter, scratch of each slice.
class Convolution final : public CpuKernel {
 public:
  Convolution(const ConvGeometry& g, const WinogradOptions& options, bool backward)
      : g_(g),
        options_(options),
        backward_(backward),
        slices_(static_cast<int>(std::clamp<std::int64_t>(g.batch, 1, options.slices))) {}

  std::size_t workspace_bytes() const override {
    return before_scratch() + static_cast<std::size_t>(slices_) * winograd_scratch_bytes(g_);
  }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? filter_slices(g_) : slices_; }

  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    auto* at_points = reinterpret_cast<float*>(workspace);
    if (phase == 0) {
      const auto* filter = static_cast<const float*>(inputs[backward_ ? 0 : 1]);
      const SliceRange in = slice_range(g_.in_channels, slices(0), slice);
      if (backward_)
        filter = exchanged(filter, in, reinterpret_cast<float*>(workspace + point_bytes()));
      loops().winograd.filter_at_points(g_.rows.window, backward_, filter, g_.in_channels,
                                        g_.out_channels, in.begin, in.end, at_points);
      return;
    }
    const SliceRange images = slice_range(g_.batch, slices_, slice);
    const auto* x = static_cast<const float*>(inputs[backward_ ? 1 : 0]);
    const auto* bias = options_.bias ? static_cast<const float*>(inputs[2]) : nullptr;
    loops().winograd.convolve(g_, images.begin, images.end, x, at_points, bias, options_.relu,
                              static_cast<float*>(outputs[0]), scratch(slice, workspace));
  }

 private:
  std::size_t point_bytes() const { return floats(point_elements(g_)); }
  std::size_t before_scratch() const {
    return point_bytes() + (backward_ ? floats(g_.filter_elements()) : 0);
  }
  float* scratch(int slice, std::byte* workspace) const {
    return reinterpret_cast<float*>(workspace + before_scratch() +
                                    static_cast<std::size_t>(slice) * winograd_scratch_bytes(g_));
  }
  // The part of the filter [window, window, out, in] that belongs to `in`, as [window, window, in,
  // out].
  const float* exchanged(const float* filter, SliceRange in, float* result) const {
    const std::int64_t matrix = g_.in_channels * g_.out_channels;
    for (std::int64_t i = 0; i < g_.rows.window * g_.columns.window; ++i)
      loops().transpose(filter + i * matrix + in.begin, g_.in_channels,
                        result + i * matrix + in.begin * g_.out_channels, g_.out_channels,
                        g_.out_channels, in.size());
    return result;
  }

  ConvGeometry g_;
  WinogradOptions options_;
  bool backward_;
  int slices_;
};

// Phase 0: each slice of images makes its sums at the points; phase 1 adds them in slice order and
// brings them back. Workspace: sums of each slice, scratch of each slice.
class FilterGradient final : public CpuKernel {
 public:
  FilterGradient(const ConvGeometry& g, int slices)
      : g_(g), slices_(static_cast<int>(std::clamp<std::int64_t>(g.batch, 1, slices))) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices_) *
           (floats(point_elements(g_)) + winograd_scratch_bytes(g_));
  }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? slices_ : filter_slices(g_); }

  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const WinogradLoops& winograd = loops().winograd;
    if (phase == 0) {
      const SliceRange images = slice_range(g_.batch, slices_, slice);
      float* sums = sums_of(slice, workspace);
      loops().fill(0.0f, sums, point_elements(g_));
      winograd.filter_gradient(
          g_, images.begin, images.end, static_cast<const float*>(inputs[0]),
          static_cast<const float*>(inputs[1]), sums,
          reinterpret_cast<float*>(workspace +
                                   static_cast<std::size_t>(slices_) * floats(point_elements(g_)) +
                                   static_cast<std::size_t>(slice) * winograd_scratch_bytes(g_)));
      return;
    }
    const SliceRange in = slice_range(g_.in_channels, slices(1), slice);
    float* sums = sums_of(0, workspace);
    for (std::int64_t point = 0; point < kWinogradPoints; ++point) {
      const std::int64_t at = (point * g_.in_channels + in.begin) * g_.out_channels;
      for (int from = 1; from < slices_; ++from)
        loops().binary[static_cast<int>(Binary::add)](sums + at, sums_of(from, workspace) + at,
                                                      sums + at, in.size() * g_.out_channels);
    }
    winograd.filter_from_points(g_.rows.window, sums, g_.in_channels, g_.out_channels, in.begin,
                                in.end, static_cast<float*>(outputs[0]));
  }

 private:
  float* sums_of(int slice, std::byte* workspace) const {
    return reinterpret_cast<float*>(workspace +
                                    static_cast<std::size_t>(slice) * floats(point_elements(g_)));
  }

  ConvGeometry g_;
  int slices_;
};

}  // namespace

bool winograd_takes(const ConvGeometry& g) {
  const auto takes = [](const WindowAxis& axis) { return axis.stride == 1 && axis.output > 0; };
  const auto sixteens = [](std::int64_t channels) { return channels > 0 && channels % 16 == 0; };
  return loops().winograd.present && g.batch > 0 && takes(g.rows) && takes(g.columns) &&
         g.rows.window == g.columns.window && (g.rows.window == 3 || g.rows.window == 5) &&
         sixteens(g.in_channels) && sixteens(g.out_channels);
}

std::unique_ptr<CpuKernel> make_winograd_conv2d(const ConvGeometry& geometry,
                                                const WinogradOptions& options) {
  return std::make_unique<Convolution>(geometry, options, false);
}

std::unique_ptr<CpuKernel> make_winograd_conv2d_backprop_input(const ConvGeometry& geometry,
                                                               const WinogradOptions& options) {
  ConvGeometry back = geometry;
  std::swap(back.in_channels, back.out_channels);
  for (WindowAxis* axis : {&back.rows, &back.columns}) {
    std::swap(axis->input, axis->output);
    axis->pad_before = axis->window - 1 - axis->pad_before;
    axis->pad_after = axis->window - 1 - axis->pad_after;
  }
  return std::make_unique<Convolution>(back, options, true);
}

std::unique_ptr<CpuKernel> make_winograd_conv2d_backprop_filter(const ConvGeometry& geometry,
                                                                const WinogradOptions& options) {
  return std::make_unique<FilterGradient>(geometry, options.slices);
}

}  // namespace towerflow::simd
