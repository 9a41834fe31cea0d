#include "train/summary/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/image/png_codec.h"
#include "train/summary/event.h"
#include "train/summary/tag.h"

namespace towerflow {
namespace {

struct ImageSummaryAttrs {
  std::int64_t max_images = 3;
  static constexpr auto fields =
      std::tuple{attr::field("max_images", &ImageSummaryAttrs::max_images)};
};

/// Takes the place of a pixel that is not finite: red.
constexpr std::array<std::uint8_t, 4> kBadColor{255, 0, 0, 255};

bool is_summary_image_dtype(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::float32 || dtype == DType::float64;
}

void image_summary_shape(InferenceContext& context) {
  if (!is_summary_image_dtype(context.dtype(1))) {
    context.fail_type(
        fmt::format("Value passed to parameter 'tensor' has DataType {} not in list "
                    "of allowed values: uint8, float32, float64",
                    dtype_name(context.dtype(1))));
  }
  if (context.attrs<ImageSummaryAttrs>().max_images < 1) {
    context.fail(fmt::format("Value for attr 'max_images' of {} must be at least minimum 1",
                             context.attrs<ImageSummaryAttrs>().max_images));
  }
  context.add_output(DType::string, Shape{});
}

template <class T>
bool is_finite_pixel(const T* pixel, std::int64_t channels) {
  return std::all_of(pixel, pixel + channels, [](T value) { return std::isfinite(value); });
}

/// Scales an image to [0, 255].
template <class T>
void scale_to_bytes(const T* image, const image::ImageSize& size, std::uint8_t* bytes) {
  const std::int64_t elements = size.elements();
  float least = std::numeric_limits<float>::infinity(), largest = -least;
  for (std::int64_t i = 0; i < elements; i += size.channels) {
    if (!is_finite_pixel(image + i, size.channels)) continue;
    for (std::int64_t c = 0; c < size.channels; ++c) {
      const auto value = static_cast<float>(image[i + c]);
      least = std::min(least, value);
      largest = std::max(largest, value);
    }
  }
  constexpr float kZeroThreshold = 1e-6F;
  const bool negative = least < 0;
  const float range = negative ? std::max(std::abs(least), std::abs(largest)) : largest;
  const T scale(range < kZeroThreshold ? 0.0F : (negative ? 127.0F : 255.0F) / range);
  const T offset(negative ? 128.0F : 0.0F);
  for (std::int64_t i = 0; i < elements; i += size.channels) {
    const bool finite = is_finite_pixel(image + i, size.channels);
    for (std::int64_t c = 0; c < size.channels; ++c) {
      // As a whole number first: 255 times a rounded quotient may be a little above 255.
      bytes[i + c] =
          finite
              ? static_cast<std::uint8_t>(static_cast<std::int32_t>(image[i + c] * scale + offset))
              : kBadColor[static_cast<std::size_t>(c)];
    }
  }
}

image::ImageSize summary_image_size(const Shape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const bool fits =
      shape.rank() == 4 && (shape.size(3) == 1 || shape.size(3) == 3 || shape.size(3) == 4);
  if (!fits) {
    throw errors::InvalidArgumentError(
        fmt::format("Tensor must be 4-D with last dim 1, 3, or 4, not {}", shape.text()));
  }
  if (shape.elements() > 0 && shape.size(1) > kMost / shape.size(2)) {
    throw errors::InvalidArgumentError(
        fmt::format("Tensor too large for summary {}", shape.text()));
  }
  return {shape.size(1), shape.size(2), shape.size(3)};
}

/// Memory: the bytes of an image of floats.
std::unique_ptr<PreparedKernel> image_summary_kernel(const KernelRequest& request) {
  const TensorDesc& images = request.inputs[1];
  if (request.inputs[0].shape.elements() != 1) {
    throw errors::InvalidArgumentError("the tag of an image summary must be a scalar");
  }
  const image::ImageSize size = summary_image_size(images.shape);
  const std::int64_t most = request.attributes<ImageSummaryAttrs>().max_images;
  const std::int64_t count = std::min(most, images.shape.size(0));
  const DType dtype = images.dtype;
  const auto run = [=](const LaunchArgs& args) {
    const std::string& tag = *args.input<std::string>(0);
    std::vector<summary::SummaryValue> values;
    for (std::int64_t i = 0; i < count; ++i) {
      auto* bytes = reinterpret_cast<std::uint8_t*>(args.workspace);
      const std::uint8_t* pixels = bytes;
      if (dtype == DType::uint8) {
        pixels = args.input<std::uint8_t>(1) + i * size.elements();
      } else if (dtype == DType::float32) {
        scale_to_bytes(args.input<float>(1) + i * size.elements(), size, bytes);
      } else {
        scale_to_bytes(args.input<double>(1) + i * size.elements(), size, bytes);
      }
      summary::SummaryValue& value = values.emplace_back();
      value.tag = most > 1 ? fmt::format("{}/image/{}", tag, i) : tag + "/image";
      value.image = summary::SummaryImage{
          static_cast<int>(size.height), static_cast<int>(size.width),
          static_cast<int>(size.channels), image::encode_png_bytes(pixels, size, 8, -1)};
    }
    *args.output<std::string>(0) = summary::serialize_summary(values);
  };
  const auto memory = dtype == DType::uint8 ? 0 : static_cast<std::size_t>(size.elements());
  return function_kernel(run, {.workspace_bytes = memory});
}

}  // namespace

static void register_image_summary_ops(OpRegistry& registry) {
  Array bad_color(DType::uint8, Shape{4});
  std::copy(kBadColor.begin(), kBadColor.end(), bad_color.data<std::uint8_t>());
  registry.add({.name = "ImageSummary",
                .inputs = {"tag: string", "tensor: T"},
                .outputs = {"summary: string"},
                .attrs = attributes<ImageSummaryAttrs>().fixed("bad_color", bad_color),
                .shape = image_summary_shape,
                .gradient = NoGradient{"a summary is a string"}});
}

static void register_image_summary_kernels(KernelTable& table) {
  table.add({.op = "ImageSummary", .label = "png", .accepts = {}, .prepare = image_summary_kernel});
}

OpFamily image_summary_family() {
  return {.ops = register_image_summary_ops, .kernels = register_image_summary_kernels};
}

namespace summary {

Tensor image(const std::string& name, const Operand& tensor, int max_outputs, ImageOptions options,
             Site site) {
  const SummaryName named(name, options.family, site);
  OpBuilder builder("ImageSummary", named.base, site, {&tensor});
  builder.input(named.tag(builder.scope()), "tag").input(tensor, "tensor");
  builder.attrs(ImageSummaryAttrs{max_outputs});
  return add_summary_to_collections(builder.output(), options.collections);
}

}  // namespace summary
}  // namespace towerflow
