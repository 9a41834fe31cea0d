// sample_distorted_bounding_box and non_max_suppression.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/image/boxes.h"
#include "ops/kernel_dims.h"
#include "ops/nn/window_args.h"
#include "ops/random/generator.h"

namespace towerflow::image {
namespace {

struct SampleAttrs {
  random::Seeds seeds{};
  std::vector<float> aspect_ratio_range{0.75F, 1.33F};
  std::vector<float> area_range{0.05F, 1.0F};
  std::int64_t max_attempts = 100;
  bool use_image_if_no_bounding_boxes = false;
  static constexpr auto fields = std::tuple{
      attr::included(&SampleAttrs::seeds),
      attr::field("aspect_ratio_range", &SampleAttrs::aspect_ratio_range),
      attr::field("area_range", &SampleAttrs::area_range),
      attr::field("max_attempts", &SampleAttrs::max_attempts),
      attr::field("use_image_if_no_bounding_boxes", &SampleAttrs::use_image_if_no_bounding_boxes)};
};

void require_last_size(const InferenceContext& context, std::size_t input, int size) {
  const Shape& shape = context.shape(input);
  if (!shape.has_rank()) return;
  const Dim last = shape[shape.rank() - 1];
  if (last.known() && last != size)
    nn::fail_with_shapes(context, fmt::format("Dimension must be {} but is {}", size, last.size()));
}

void sample_box_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "image_size",
                    {DType::int32, DType::int64, DType::uint8, DType::int8, DType::int16});
  nn::require_dtype(context, 1, "bounding_boxes", {DType::float32});
  nn::require_rank(context, 0, 1);
  nn::require_rank(context, 1, 3);
  nn::require_rank(context, 2, 0);
  require_last_size(context, 0, 3);
  require_last_size(context, 1, 4);
  context.add_output(context.dtype(0), Shape{3});
  context.add_output(context.dtype(0), Shape{3});
  context.add_output(DType::float32, Shape{1, 1, 4});
}

/// A part of an image in pixels, without its last row and column.
struct PixelBox {
  std::int64_t left = 0, top = 0, right = 0, bottom = 0;

  float area() const { return static_cast<float>((right - left) * (bottom - top)); }
  PixelBox common(const PixelBox& other) const {
    const PixelBox both{std::max(left, other.left), std::max(top, other.top),
                        std::min(right, other.right), std::min(bottom, other.bottom)};
    return both.left > both.right || both.top > both.bottom ? PixelBox{} : both;
  }
};

/// Draws numbers as TensorFlow does from its generator.
class BoxDraws {
 public:
  explicit BoxDraws(const random::Philox& generator) : words_(generator) {}

  /// Returns a number from 0 to 1 in steps of 2^-23.
  float fraction() {
    return static_cast<float>(words_() & 0x7fffffU) / static_cast<float>(1 << 23);
  }
  /// Returns an integer from 0 to n - 1.
  std::int64_t below(std::int64_t n) {
    const auto limit = static_cast<std::uint32_t>(n);
    if ((limit & (limit - 1)) == 0) return words_() & (limit - 1);
    const std::uint32_t skewed = std::numeric_limits<std::uint32_t>::max() % limit + 1;
    std::uint32_t word = words_();
    while (word < skewed) word = words_();
    return word % limit;
  }

 private:
  random::PhiloxWords words_;
};

std::int64_t rounded(float x) { return std::lrint(x); }

/// Draws a box of one of the allowed areas, and returns whether there is one.
bool draw_box(std::int64_t width, std::int64_t height, const std::vector<float>& area_range,
              float aspect_ratio, BoxDraws& draws, PixelBox& box) {
  const auto whole_width = static_cast<float>(width), whole_height = static_cast<float>(height);
  if (area_range[1] <= 0 || aspect_ratio <= 0 || width <= 0 || height <= 0 ||
      area_range[0] > area_range[1])
    return false;
  const float least = area_range[0] * whole_width * whole_height;
  const float most = area_range[1] * whole_width * whole_height;
  std::int64_t box_height = rounded(std::sqrt(least / aspect_ratio));
  std::int64_t highest = rounded(std::sqrt(most / aspect_ratio));
  const auto width_of = [aspect_ratio](std::int64_t rows) {
    return rounded(static_cast<float>(rows) * aspect_ratio);
  };
  if (width_of(highest) > width) {
    constexpr float kSmall = 0.0000001F;
    highest = static_cast<std::int64_t>((static_cast<double>(width) + 0.5 - kSmall) / aspect_ratio);
    if (width_of(highest) > width) --highest;
  }
  highest = std::min(highest, height);
  box_height = std::min(box_height, highest);
  if (box_height < highest) box_height += draws.below(highest - box_height + 1);
  std::int64_t box_width = width_of(box_height);
  const auto resize_by = [&](std::int64_t rows) {
    box_height += rows;
    box_width = width_of(box_height);
  };
  // A rounded size may be a little too small or too large.
  const auto area = [&] { return static_cast<float>(box_width * box_height); };
  if (area() < least) resize_by(1);
  if (area() > most) resize_by(-1);
  if (area() < least || area() > most || box_width > width || box_height > height ||
      box_width <= 0 || box_height <= 0)
    return false;
  const std::int64_t top = box_height < height ? draws.below(height - box_height) : 0;
  const std::int64_t left = box_width < width ? draws.below(width - box_width) : 0;
  box = {left, top, left + box_width, top + box_height};
  return true;
}

/// Returns whether a box contains enough of an object.
bool covers_enough(const PixelBox& box, float least_covered, const float* objects,
                   std::int64_t count, const PixelBox& image) {
  if (box.area() < 1) return false;
  const auto covered = [&](const PixelBox& object) {
    return object.area() >= 1 && box.common(object).area() / object.area() >= least_covered;
  };
  if (count == 0) return covered(image);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* one = objects + 4 * i;
    const auto width = static_cast<float>(image.right), height = static_cast<float>(image.bottom);
    if (covered({static_cast<std::int64_t>(one[1] * width),
                 static_cast<std::int64_t>(one[0] * height),
                 static_cast<std::int64_t>(one[3] * width),
                 static_cast<std::int64_t>(one[2] * height)}))
      return true;
  }
  return false;
}

void check_sample_attrs(const SampleAttrs& attrs) {
  const auto &ratios = attrs.aspect_ratio_range, &areas = attrs.area_range;
  if (ratios.size() != 2 || !(ratios[0] > 0) || !(ratios[1] > 0))
    throw errors::InvalidArgumentError("aspect_ratio_range must be two positive numbers");
  if (areas.size() != 2 || !(areas[0] > 0) || !(areas[1] > 0) || areas[0] > 1 || areas[1] > 1)
    throw errors::InvalidArgumentError("area_range must be two numbers from 0 to 1");
  if (attrs.max_attempts <= 0)
    throw errors::InvalidArgumentError(
        fmt::format("Max attempts must be positive: {}", attrs.max_attempts));
}

/// Throws InvalidArgumentError for values that no part of an image can be drawn for.
template <class T>
PixelBox checked_image(const T* size, const float* boxes, std::int64_t count, float covered,
                       const SampleAttrs& attrs) {
  const auto height = static_cast<std::int64_t>(size[0]),
             width = static_cast<std::int64_t>(size[1]);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (height < 0 || width < 0 || height >= most || width >= most) {
    throw errors::InvalidArgumentError(
        fmt::format("image height and width must be below 2^31 - 1, got {} and {}", height, width));
  }
  if (!(covered >= 0)) {
    throw errors::InvalidArgumentError(
        fmt::format("Min object covered must be non-negative: {}", covered));
  }
  for (std::int64_t i = 0; i < 4 * count; ++i) {
    if (boxes[i] >= 0 && boxes[i] <= 1) continue;
    throw errors::InvalidArgumentError(
        fmt::format("All bounding box coordinates must be in [0.0, 1.0]: {}", boxes[i]));
  }
  if (count == 0 && !attrs.use_image_if_no_bounding_boxes) {
    throw errors::InvalidArgumentError(
        "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if "
        "you wish to not provide any bounding boxes.");
  }
  return {0, 0, width, height};
}

std::unique_ptr<PreparedKernel> sample_box_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<SampleAttrs>();
  check_sample_attrs(attrs);
  const Shape &size = request.inputs[0].shape, &boxes = request.inputs[1].shape;
  if (size != Shape{3} || boxes.rank() != 3 || boxes.size(2) != 4 ||
      request.inputs[2].shape.rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("image_size must have shape [3], bounding_boxes [n, m, 4] and "
                    "min_object_covered [], got {}, {} and {}",
                    size.text(), boxes.text(), request.inputs[2].shape.text()));
  }
  const std::int64_t count = boxes.size(0) * boxes.size(1);
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_dtype(request.inputs[0].dtype, [&]<class T>() {
    kernel = function_kernel([attrs, count, node = request.node](const LaunchArgs& args) {
      const auto* objects = args.input<float>(1);
      const float covered = *args.input<float>(2);
      const PixelBox image = checked_image(args.input<T>(0), objects, count, covered, attrs);
      // TensorFlow reserves this many words, whatever it draws.
      BoxDraws draws(
          random::generator_of(args, node, attrs.seeds).reserve_words(4 * attrs.max_attempts));
      PixelBox box = image;
      bool found = false;
      for (std::int64_t i = 0; i < attrs.max_attempts && !found; ++i) {
        const float ratio =
            draws.fraction() * (attrs.aspect_ratio_range[1] - attrs.aspect_ratio_range[0]) +
            attrs.aspect_ratio_range[0];
        found = draw_box(image.right, image.bottom, attrs.area_range, ratio, draws, box) &&
                covers_enough(box, covered, objects, count, image);
      }
      if (!found) box = image;
      const std::int64_t begin[] = {box.top, box.left, 0};
      const std::int64_t extent[] = {box.bottom - box.top, box.right - box.left, -1};
      for (int i = 0; i < 3; ++i) {
        args.output<T>(0)[i] = static_cast<T>(begin[i]);
        args.output<T>(1)[i] = static_cast<T>(extent[i]);
      }
      const auto height = static_cast<float>(image.bottom), width = static_cast<float>(image.right);
      float* relative = args.output<float>(2);
      relative[0] = static_cast<float>(box.top) / height;
      relative[1] = static_cast<float>(box.left) / width;
      relative[2] = static_cast<float>(box.bottom) / height;
      relative[3] = static_cast<float>(box.right) / width;
    });
  });
  return kernel;
}

void non_max_suppression_shape(InferenceContext& context) {
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{4}})
    nn::require_dtype(context, input, "boxes", {DType::float32});
  nn::require_rank(context, 0, 2);
  nn::require_rank(context, 1, 1);
  for (const std::size_t input : {std::size_t{2}, std::size_t{3}, std::size_t{4}})
    nn::require_rank(context, input, 0);
  require_last_size(context, 0, 4);
  const Shape &boxes = context.shape(0), &scores = context.shape(1);
  if (boxes.has_rank() && scores.has_rank() && boxes[0].known() && scores[0].known() &&
      boxes[0] != scores[0])
    nn::fail_with_shapes(context, "Dimensions must be equal: each box has a score");
  context.add_output(DType::int32, Shape{None});
}

/// Returns the intersection of two boxes over their union.
float box_overlap(const float* a, const float* b) {
  struct Sides {
    explicit Sides(const float* box)
        : top(std::min(box[0], box[2])),
          left(std::min(box[1], box[3])),
          bottom(std::max(box[0], box[2])),
          right(std::max(box[1], box[3])) {}
    float area() const { return (bottom - top) * (right - left); }
    float top, left, bottom, right;
  };
  const Sides one(a), other(b);
  if (one.area() <= 0 || other.area() <= 0) return 0;
  const float rows =
      std::max(std::min(one.bottom, other.bottom) - std::max(one.top, other.top), 0.0F);
  const float columns =
      std::max(std::min(one.right, other.right) - std::max(one.left, other.left), 0.0F);
  const float common = rows * columns;
  return common / (one.area() + other.area() - common);
}

std::unique_ptr<PreparedKernel> non_max_suppression_kernel(const KernelRequest& request) {
  const Shape &boxes = request.inputs[0].shape, &scores = request.inputs[1].shape;
  bool fits = boxes.rank() == 2 && boxes.size(1) == 4 && scores.rank() == 1 &&
              scores.size(0) == boxes.size(0);
  for (std::size_t i = 2; i < 5; ++i) fits = fits && request.inputs[i].shape.rank() == 0;
  if (!fits) {
    throw errors::InvalidArgumentError(fmt::format(
        "boxes must be [n, 4], scores [n] and the others scalars, got {}", inputs_text(request)));
  }
  const std::int64_t count = boxes.size(0);
  const auto bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t) * 2;
  return function_kernel(
      [count, declared = request.outputs[0].shape](const LaunchArgs& args) {
        const auto* all = args.input<float>(0);
        const auto* score = args.input<float>(1);
        const std::int32_t most = *args.input<std::int32_t>(2);
        const float threshold = *args.input<float>(3), least = *args.input<float>(4);
        if (!(threshold >= 0 && threshold <= 1))
          throw errors::InvalidArgumentError("iou_threshold must be in [0, 1]");
        if (most < 0)
          throw errors::InvalidArgumentError(
              fmt::format("max_output_size must be non-negative, got {}", most));
        auto* order = reinterpret_cast<std::int32_t*>(args.workspace);
        std::int32_t* chosen = order + count;
        std::int32_t* end = order;
        for (std::int64_t i = 0; i < count; ++i) {
          if (score[i] > least) *end++ = static_cast<std::int32_t>(i);
        }
        std::sort(order, end, [score](std::int32_t a, std::int32_t b) {
          return score[a] != score[b] ? score[a] > score[b] : a < b;
        });
        std::int64_t found = 0;
        for (const std::int32_t* one = order; one != end && found < most; ++one) {
          const bool hidden = std::any_of(chosen, chosen + found, [&](std::int32_t other) {
            return box_overlap(all + 4 * std::int64_t{*one}, all + 4 * std::int64_t{other}) >
                   threshold;
          });
          if (!hidden) chosen[found++] = *one;
        }
        auto* result = static_cast<std::int32_t*>(args.output_memory(0, Shape{found}, declared));
        std::copy_n(chosen, found, result);
      },
      {.workspace_bytes = bytes});
}

}  // namespace

static void register_bounding_boxes_ops(OpRegistry& registry) {
  registry.add(
      {.name = "SampleDistortedBoundingBoxV2",
       .inputs = {"image_size: T", "bounding_boxes: float32", "min_object_covered: float32"},
       .outputs = {"begin: T", "size: T", "bboxes: float32"},
       .attrs = attributes<SampleAttrs>(),
       .shape = sample_box_shape,
       .gradient = NoGradient{"a drawn box does not depend on its arguments smoothly"},
       .effect = Effect::random});
  registry.add({.name = "NonMaxSuppressionV3",
                .inputs = {"boxes: T", "scores: T", "max_output_size: int32",
                           "iou_threshold: T_threshold", "score_threshold: T_threshold"},
                .outputs = {"selected_indices: int32"},
                .shape = non_max_suppression_shape,
                .gradient = NoGradient{"an index is an integer"}});
}

static void register_bounding_boxes_kernels(KernelTable& table) {
  table.add({.op = "SampleDistortedBoundingBoxV2",
             .label = "philox",
             .accepts = {},
             .prepare = sample_box_kernel});
  table.add({.op = "NonMaxSuppressionV3",
             .label = "sort",
             .accepts = {},
             .prepare = non_max_suppression_kernel});
}

DistortedBoundingBox sample_distorted_bounding_box(const Operand& image_size,
                                                   const Operand& bounding_boxes,
                                                   SampleDistortedBoundingBoxOptions options,
                                                   Site site) {
  Graph& graph = graph_of(image_size, bounding_boxes);
  const NameScope scope(
      graph, options.name.empty() ? "sample_distorted_bounding_box" : options.name, site);
  const Operation op =
      OpBuilder("SampleDistortedBoundingBoxV2", options.name, site, {&image_size, &bounding_boxes})
          .input(image_size, "image_size")
          .input(bounding_boxes, "bounding_boxes", DType::float32)
          .input(options.min_object_covered, "min_object_covered", DType::float32)
          .attrs(SampleAttrs{{options.seed, options.seed2},
                             {options.aspect_ratio_range[0], options.aspect_ratio_range[1]},
                             {options.area_range[0], options.area_range[1]},
                             options.max_attempts,
                             options.use_image_if_no_bounding_boxes})
          .build();
  return {op.output(0), op.output(1), op.output(2)};
}

Tensor non_max_suppression(const Operand& boxes, const Operand& scores,
                           const ScalarOperand& max_output_size, const ScalarOperand& iou_threshold,
                           NonMaxSuppressionOptions options, Site site) {
  Graph& graph = graph_of(boxes, scores);
  const NameScope scope(graph, options.name.empty() ? "non_max_suppression" : options.name, site);
  const Tensor overlap = convert_operand(graph, iou_threshold, "iou_threshold", std::nullopt);
  const Tensor least =
      convert_operand(graph, options.score_threshold, "score_threshold", std::nullopt);
  return OpBuilder("NonMaxSuppressionV3", "", site, {&boxes, &scores})
      .input(boxes, "boxes", "T")
      .input(scores, "scores", "T")
      .input(max_output_size, "max_output_size", DType::int32)
      .input(overlap, "iou_threshold", "T_threshold")
      .input(least, "score_threshold", "T_threshold")
      .output();
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily bounding_boxes_family() {
  return {.ops = image::register_bounding_boxes_ops,
          .kernels = image::register_bounding_boxes_kernels};
}
}  // namespace towerflow
