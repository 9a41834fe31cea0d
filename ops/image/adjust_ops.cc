// The ops of adjust_contrast, adjust_hue and adjust_saturation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device/cpu/launch.h"
#include "core/graph/op_def.h"
#include "ops/family.h"
#include "ops/image/turned_hue.h"
#include "ops/nn/window_args.h"
#include "ops/range_kernel.h"

namespace towerflow::image {
namespace {

void adjust_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "images", {DType::float32});
  const Shape& images = context.shape(0);
  if (images.has_rank() && images.rank() < 3) {
    context.fail(
        fmt::format("Shape must be at least rank 3 but is rank {}: images are [.., "
                    "height, width, channels]",
                    images.rank()));
  }
  const Shape& number = context.shape(1);
  if (number.has_rank() && number.rank() != 0)
    context.fail(fmt::format("Shape must be rank 0 but is rank {}", number.rank()));
  context.add_output(DType::float32, images);
}

void check_adjusted_shapes(const KernelRequest& request) {
  if (request.inputs[0].shape.rank() < 3) {
    throw errors::InvalidArgumentError(
        fmt::format("input must be at least 3-D, got shape {}", request.inputs[0].shape.text()));
  }
  if (request.inputs[1].shape.rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("the number that adjusts an image must be scalar, got shape {}",
                    request.inputs[1].shape.text()));
  }
}

/// Adds up each channel of parts of each image, then moves the numbers away from the means. Rows of
/// `kPixels` pixels are processed at once, so that the loops are over many neighbours in memory.
class ContrastKernel final : public CpuKernel {
 public:
  explicit ContrastKernel(const Shape& shape)
      : channels_(shape.size(shape.rank() - 1)),
        pixels_(shape.size(shape.rank() - 2) * shape.size(shape.rank() - 3)),
        images_(channels_ * pixels_ == 0 ? 0 : shape.elements() / (channels_ * pixels_)),
        parts_(partial_slices(channels_ * pixels_)) {
    sums_ = layout_.add(sizeof(double) * static_cast<std::size_t>(slices(0) * channels_));
    rows_ = layout_.add(sizeof(float) * static_cast<std::size_t>(slices(0) * row()));
  }
  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  int phases() const override { return 2; }
  int slices(int) const override {
    return static_cast<int>(std::max<std::int64_t>(1, images_ * parts_));
  }
  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    if (images_ == 0) return;
    const std::int64_t image = slice / parts_;
    const SliceRange part = slice_range(pixels_, parts_, slice % parts_, kPixels);
    const std::int64_t first = (image * pixels_ + part.begin) * channels_;
    const auto* x = static_cast<const float*>(inputs[0]) + first;
    auto* sums = reinterpret_cast<double*>(workspace + sums_);
    float* line = reinterpret_cast<float*>(workspace + rows_) + slice * row();
    if (phase == 0)
      add_up(x, part.size() * channels_, line, sums + slice * channels_);
    else
      stretch(x, part.size() * channels_, *static_cast<const float*>(inputs[1]),
              sums + image * parts_ * channels_, line, static_cast<float*>(outputs[0]) + first);
  }

 private:
  static constexpr std::int64_t kPixels = 16;
  static constexpr int kRowsPerBlock = 64;

  std::int64_t row() const { return kPixels * channels_; }

  void add_up(const float* x, std::int64_t count, float* line, double* sums) const {
    std::fill_n(sums, channels_, 0.0);
    while (count > 0) {
      std::fill_n(line, row(), 0.0F);
      for (int i = 0; i < kRowsPerBlock && count > 0; ++i) {
        const std::int64_t taken = std::min(count, row());
        for (std::int64_t j = 0; j < taken; ++j) line[j] += x[j];
        x += taken;
        count -= taken;
      }
      for (std::int64_t j = 0; j < row(); ++j) sums[j % channels_] += static_cast<double>(line[j]);
    }
  }

  void stretch(const float* x, std::int64_t count, float factor, const double* sums, float* line,
               float* y) const {
    for (std::int64_t c = 0; c < channels_; ++c) {
      double sum = 0;
      for (int i = 0; i < parts_; ++i) sum += sums[i * channels_ + c];
      line[c] = static_cast<float>(sum / static_cast<double>(pixels_));
    }
    for (std::int64_t j = channels_; j < row(); ++j) line[j] = line[j - channels_];
    for (; count > 0; count -= row(), x += row(), y += row()) {
      const std::int64_t taken = std::min(count, row());
      for (std::int64_t j = 0; j < taken; ++j) y[j] = line[j] + (x[j] - line[j]) * factor;
    }
  }

  std::int64_t channels_, pixels_, images_;
  int parts_;
  WorkspaceLayout layout_;
  std::size_t sums_ = 0, rows_ = 0;
};

std::unique_ptr<PreparedKernel> contrast_kernel(const KernelRequest& request) {
  check_adjusted_shapes(request);
  return sliced_kernel(std::make_unique<ContrastKernel>(request.inputs[0].shape), {{0, 0}});
}

/// Turns the hue of a colour by `turn` sixths of a circle.
void turn_hue(const float* rgb, float turn, float* out) {
  const TurnedHue turned(rgb[0], rgb[1], rgb[2], turn);
  static constexpr int kOrder[6][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0},
                                       {2, 1, 0}, {2, 0, 1}, {0, 2, 1}};  // high, middle, low
  out[kOrder[turned.sector][0]] = turned.high;
  out[kOrder[turned.sector][1]] = turned.middle;
  out[kOrder[turned.sector][2]] = turned.low;
}

/// Multiplies the saturation of a colour, whose hue and largest number stay the same.
void scale_saturation(const float* rgb, float scale, float* out) {
  const float r = rgb[0], g = rgb[1], b = rgb[2];
  const float value = std::max(r, std::max(g, b));
  const float range = value - std::min(r, std::min(g, b));
  const float norm = 1.0F / (6.0F * range);
  float hue = norm * (r - g) + 4.0F / 6.0F;
  if (g == value) hue = norm * (b - r) + 2.0F / 6.0F;
  if (r == value) hue = norm * (g - b);
  if (!(range > 0)) hue = 0;
  if (hue < 0) hue += 1;
  const float saturation = value > 0 ? range / value : 0.0F;
  const float chroma = std::min(1.0F, std::max(0.0F, saturation * scale)) * value;
  const float lowest = value - chroma;
  const float sector = hue * 6;
  const float middle = chroma * (1 - std::abs(sector - 2 * std::floor(sector / 2) - 1));
  const int which = sector >= 0 && sector < 6 ? static_cast<int>(sector) : 6;
  static constexpr int kParts[7][3] = {{2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {0, 1, 2},
                                       {1, 0, 2}, {2, 0, 1}, {0, 0, 0}};
  const float parts[3] = {0, middle, chroma};
  for (int c = 0; c < 3; ++c) out[c] = parts[kParts[which][c]] + lowest;
}

template <class F>
std::unique_ptr<PreparedKernel> colour_kernel(const KernelRequest& request, F change) {
  check_adjusted_shapes(request);
  const Shape& shape = request.inputs[0].shape;
  const std::int64_t channels = shape.size(shape.rank() - 1);
  if (channels != 3) {
    throw errors::InvalidArgumentError(
        fmt::format("input must have 3 channels but instead has {} channels.", channels));
  }
  return rows_kernel(shape.elements() / 3, 3,
                     [change](SliceRange range, const void* const* inputs, void* const* outputs) {
                       const float* x = static_cast<const float*>(inputs[0]) + 3 * range.begin;
                       const float number = *static_cast<const float*>(inputs[1]);
                       float* y = static_cast<float*>(outputs[0]) + 3 * range.begin;
                       for (std::int64_t i = 0; i < range.size(); ++i, x += 3, y += 3)
                         change(x, number, y);
                     },
                     {{0, 0}});
}

}  // namespace

static void register_adjust_ops(OpRegistry& registry) {
  const NoGradient none{"TensorFlow has no gradient of it", false};
  registry.add({.name = "AdjustContrastv2",
                .inputs = {"images: T", "contrast_factor: float32"},
                .outputs = {"output: T"},
                .shape = adjust_shape,
                .gradient = none});
  registry.add({.name = "AdjustHue",
                .inputs = {"images: T", "delta: float32"},
                .outputs = {"output: T"},
                .shape = adjust_shape,
                .gradient = none});
  registry.add({.name = "AdjustSaturation",
                .inputs = {"images: T", "scale: float32"},
                .outputs = {"output: T"},
                .shape = adjust_shape,
                .gradient = none});
}

static void register_adjust_kernels(KernelTable& table) {
  table.add({.op = "AdjustContrastv2", .label = "rows", .accepts = {}, .prepare = contrast_kernel});
  table.add({.op = "AdjustHue",
             .label = "pixels",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return colour_kernel(request, [](const float* x, float delta, float* y) {
                 turn_hue(x, delta * 6, y);
               });
             }});
  table.add({.op = "AdjustSaturation",
             .label = "pixels",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return colour_kernel(request, [](const float* x, float scale, float* y) {
                 scale_saturation(x, scale, y);
               });
             }});
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily adjust_family() {
  return {.ops = image::register_adjust_ops, .kernels = image::register_adjust_kernels};
}
}  // namespace towerflow
