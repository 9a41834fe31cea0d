#include <algorithm>
#include <vector>

#include "ops/simd/kernels.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

std::size_t floats(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }
std::int64_t point_elements(const ConvGeometry& g) {
  return kWinogradPoints * g.in_channels * g.out_channels;
}
// Adds one part of a workspace for each slice and returns their offsets.
std::vector<std::size_t> add_parts(WorkspaceLayout& layout, int slices, std::size_t bytes) {
  std::vector<std::size_t> offsets;
  for (int i = 0; i < slices; ++i) offsets.push_back(layout.add(bytes));
  return offsets;
}
float* part(std::byte* workspace, std::size_t offset) {
  return reinterpret_cast<float*>(workspace + offset);
}
// Returns the number of slices of a loop over input channels of the filter.
int filter_slices(const ConvGeometry& g) {
  return slice_count(point_elements(g), 4 * kLoopGrain, kMaxPartialSlices);
}

// y = conv2d(x, filter). With the filter turned and its channels exchanged, this also computes the
// gradient of x, which is such a convolution of dy; `g` describes the convolution that is computed.
//
// Phase 0 transforms the filter to the points, phase 1 processes slices of images.
class Convolution final : public CpuKernel {
 public:
  Convolution(const ConvGeometry& g, const WinogradOptions& options, bool backward)
      : g_(g),
        options_(options),
        backward_(backward),
        slices_(slice_count(g.batch, 1, options.slices)),
        at_points_(layout_.add(floats(point_elements(g)))),
        exchanged_(layout_.add(backward ? floats(g.filter_elements()) : 0)),
        scratch_(add_parts(layout_, slices_, winograd_scratch_bytes(g))) {}

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? filter_slices(g_) : slices_; }

  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    float* at_points = part(workspace, at_points_);
    if (phase == 0) {
      const auto* filter = static_cast<const float*>(inputs[backward_ ? 0 : 1]);
      const SliceRange in = slice_range(g_.in_channels, slices(0), slice);
      if (backward_) filter = exchanged(filter, in, part(workspace, exchanged_));
      loops().winograd.filter_at_points(g_.rows.window, backward_, filter, g_.in_channels,
                                        g_.out_channels, in.begin, in.end, at_points);
      return;
    }
    const SliceRange images = slice_range(g_.batch, slices_, slice);
    const auto* x = static_cast<const float*>(inputs[backward_ ? 1 : 0]);
    const auto* bias = options_.bias ? static_cast<const float*>(inputs[2]) : nullptr;
    loops().winograd.convolve(g_, images.begin, images.end, x, at_points, bias, options_.relu,
                              static_cast<float*>(outputs[0]),
                              part(workspace, scratch_[static_cast<std::size_t>(slice)]));
  }

 private:
  // Returns the part of the filter [window, window, out, in] that belongs to `in`, as
  // [window, window, in, out].
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
  WorkspaceLayout layout_;
  std::size_t at_points_, exchanged_;
  std::vector<std::size_t> scratch_;
};

// Phase 0: each slice of images computes its sums at the points. Phase 1 adds them in slice order
// and transforms them back.
class FilterGradient final : public CpuKernel {
 public:
  FilterGradient(const ConvGeometry& g, int slices)
      : g_(g),
        slices_(slice_count(g.batch, 1, slices)),
        sums_(add_parts(layout_, slices_, floats(point_elements(g)))),
        scratch_(add_parts(layout_, slices_, winograd_scratch_bytes(g))) {}

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? slices_ : filter_slices(g_); }

  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const WinogradLoops& winograd = loops().winograd;
    if (phase == 0) {
      const SliceRange images = slice_range(g_.batch, slices_, slice);
      float* sums = sums_of(slice, workspace);
      loops().fill(0.0f, sums, point_elements(g_));
      winograd.filter_gradient(g_, images.begin, images.end, static_cast<const float*>(inputs[0]),
                               static_cast<const float*>(inputs[1]), sums,
                               part(workspace, scratch_[static_cast<std::size_t>(slice)]));
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
    return part(workspace, sums_[static_cast<std::size_t>(slice)]);
  }

  ConvGeometry g_;
  int slices_;
  WorkspaceLayout layout_;
  std::vector<std::size_t> sums_, scratch_;
};

}  // namespace

bool winograd_takes(const ConvGeometry& g) {
  const auto takes = [](const WindowAxis& axis) { return axis.stride == 1 && axis.output > 0; };
  const auto is_multiple_of_16 = [](std::int64_t channels) {
    return channels > 0 && channels % 16 == 0;
  };
  return loops().winograd.present && g.is_plain() && g.batch > 0 && takes(g.rows) &&
         takes(g.columns) && g.rows.window == g.columns.window &&
         (g.rows.window == 3 || g.rows.window == 5) && is_multiple_of_16(g.in_channels) &&
         is_multiple_of_16(g.out_channels);
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
