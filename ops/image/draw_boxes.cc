// draw_bounding_boxes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/image/boxes.h"
#include "ops/nn/window_args.h"

namespace towerflow::image {
namespace {

void draw_boxes_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "images", {DType::float32});
  nn::require_dtype(context, 1, "boxes", {DType::float32});
  const Shape& images = context.shape(0);
  if (images.has_rank() && images.rank() < 3) {
    nn::fail_with_shapes(context, "Shape must be at least rank 3");
  }
  context.add_output(context.dtype(0), images);
}

/// TensorFlow's colours, which boxes take in turn; the fourth number is the opacity.
constexpr std::array<std::array<float, 4>, 10> kBoxColours{{{1, 1, 0, 1},
                                                            {0, 0, 1, 1},
                                                            {1, 0, 0, 1},
                                                            {0, 1, 0, 1},
                                                            {0.5, 0, 0.5, 1},
                                                            {0.5, 0.5, 0, 1},
                                                            {0.5, 0, 0, 1},
                                                            {0, 0, 0.5, 1},
                                                            {0, 1, 1, 1},
                                                            {1, 0, 1, 1}}};

/// The images of a launch, one after the other.
struct Canvas {
  std::int64_t height, width, depth;
  float* image;

  void paint(std::int64_t row, std::int64_t column, const std::array<float, 4>& colour) const {
    float* pixel = image + (row * width + column) * depth;
    // A grey image has white boxes: each colour is 1 in its first channel.
    for (std::int64_t c = 0; c < depth; ++c) {
      pixel[c] = depth == 1 ? 1.0F : colour[static_cast<std::size_t>(c)];
    }
  }

  /// Draws the sides of a box that are inside the image.
  void draw(const float* box, const std::array<float, 4>& colour) const {
    const auto place = [](float part, std::int64_t size) {
      constexpr float kFar = 1e9F;  // outside every image, and an integer, which NaN is not
      const float at = part * static_cast<float>(size - 1);
      return static_cast<std::int64_t>(at > -kFar ? std::min(at, kFar) : -kFar);
    };
    const std::int64_t top = place(box[0], height), left = place(box[1], width);
    const std::int64_t bottom = place(box[2], height), right = place(box[3], width);
    const bool inverted = top > bottom || left > right;
    if (inverted || top >= height || bottom < 0 || left >= width || right < 0) return;
    const std::int64_t first_row = std::max<std::int64_t>(top, 0);
    const std::int64_t last_row = std::min(bottom, height - 1);
    const std::int64_t first_column = std::max<std::int64_t>(left, 0);
    const std::int64_t last_column = std::min(right, width - 1);
    for (std::int64_t column = first_column; column <= last_column; ++column) {
      if (top >= 0) paint(top, column, colour);
      if (bottom < height) paint(bottom, column, colour);
    }
    for (std::int64_t row = first_row; row <= last_row; ++row) {
      if (left >= 0) paint(row, left, colour);
      if (right < width) paint(row, right, colour);
    }
  }
};

std::unique_ptr<PreparedKernel> draw_boxes_kernel(const KernelRequest& request) {
  const Shape &images = request.inputs[0].shape, &boxes = request.inputs[1].shape;
  const auto require = [&](bool holds, const char* what) {
    if (holds) return;
    throw errors::InvalidArgumentError(
        fmt::format("{}, got images {} and boxes {}", what, images.text(), boxes.text()));
  };
  require(images.rank() == 4, "the rank of the images must be 4");
  require(boxes.rank() == 3 && boxes.size(2) == 4, "boxes must have shape [n, m, 4]");
  require(images.size(0) == boxes.size(0), "the batch sizes must be the same");
  const std::int64_t depth = images.size(3);
  require(depth == 1 || depth == 3 || depth == 4, "images must have 1, 3 or 4 channels");
  return function_kernel(
      [images, count = boxes.size(1)](const LaunchArgs& args) {
        const auto* box = args.input<float>(1);
        float* result = args.output<float>(0);
        const std::int64_t size = images.size(1) * images.size(2) * images.size(3);
        std::copy_n(args.input<float>(0), images.size(0) * size, result);
        for (std::int64_t i = 0; i < images.size(0); ++i) {
          const Canvas canvas{images.size(1), images.size(2), images.size(3), result + i * size};
          for (std::int64_t j = 0; j < count; ++j, box += 4) {
            canvas.draw(box, kBoxColours[static_cast<std::size_t>(j) % kBoxColours.size()]);
          }
        }
      },
      {.may_fail = false});
}

}  // namespace

static void register_draw_boxes_ops(OpRegistry& registry) {
  registry.add({.name = "DrawBoundingBoxes",
                .inputs = {"images: T", "boxes: float32"},
                .outputs = {"output: T"},
                .shape = draw_boxes_shape,
                .gradient = NoGradient{"TensorFlow has no gradient of drawings"}});
}

static void register_draw_boxes_kernels(KernelTable& table) {
  table.add(
      {.op = "DrawBoundingBoxes", .label = "lines", .accepts = {}, .prepare = draw_boxes_kernel});
}

Tensor draw_bounding_boxes(const Operand& images, const Operand& boxes,
                           DrawBoundingBoxesOptions options, Site site) {
  return OpBuilder("DrawBoundingBoxes", options.name, site, {&images, &boxes})
      .input(images, "images")
      .input(boxes, "boxes", DType::float32)
      .output();
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily draw_boxes_family() {
  return {.ops = image::register_draw_boxes_ops, .kernels = image::register_draw_boxes_kernels};
}
}  // namespace towerflow
