#include "ops/image/adjust.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/control/tuple.h"
#include "ops/data_flow/assert.h"
#include "ops/image/checks.h"
#include "ops/image/convert_dtype.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/random/random_ops.h"

namespace towerflow::image {
namespace {

/// Converts an operand to a float32 tensor and remembers its dtype.
struct FloatImage {
  FloatImage(Graph& graph, const Operand& image, const char* argument, Site site) {
    const Tensor given = convert_operand(graph, image, argument, std::nullopt);
    dtype = given.dtype();
    pixels = dtype == DType::float32 ? given : convert_image_dtype(given, DType::float32, {}, site);
  }
  DType dtype = DType::float32;
  Tensor pixels;
};

/// Makes an op of an image and a number of float32.
Tensor adjusted(const char* op, const std::string& name, const Tensor& pixels, const char* argument,
                const Operand& number, Site site) {
  return OpBuilder(op, name, site, {})
      .input(pixels, "images")
      .input(number, argument, DType::float32)
      .output();
}

[[noreturn]] void fail_range(const char* message, const char* op, Site site) {
  throw ValueError(message, {.site = site, .op = op});
}

Tensor draw_adjustment(double low, double high, const RandomAdjustOptions& options, Site site) {
  return random_uniform(Shape{}, {.minval = low, .maxval = high, .seed = options.seed}, site);
}

void check_factors(double lower, double upper, const char* op, Site site) {
  if (upper <= lower) fail_range("upper must be > lower.", op, site);
  if (lower < 0) fail_range("lower must be non-negative.", op, site);
}

/// The nodes of tf.math.reduce_std over the last three dimensions.
Tensor deviation_of_images(const Tensor& image, Site site) {
  Graph& graph = image.graph();
  const NameScope scope(graph, "reduce_std", site);
  const auto variance = [&] {
    const NameScope inner(graph, "reduce_variance", site);
    const Axis axes{-1, -2, -3};
    const Tensor means = reduce_mean(image, axes, {.keepdims = true}, site);
    const Tensor differences = Operand(image, site) - means;
    return reduce_mean(square(differences, {}, site), axes, {.keepdims = true}, site);
  }();
  return sqrt(variance, {}, site);
}

}  // namespace

Tensor adjust_brightness(const Operand& image, const ScalarOperand& delta, Site site) {
  Graph& graph = graph_of(image, delta);
  const NameScope scope(graph, "adjust_brightness", site);
  const FloatImage given(graph, image, "image", site);
  const Tensor shift = cast(delta, DType::float32, {}, site);
  const Tensor brighter = add(given.pixels, shift, {.name = scope.name()}, site);
  return convert_image_dtype(brighter, given.dtype, {.saturate = true}, site);
}

Tensor adjust_contrast(const Operand& images, const ScalarOperand& contrast_factor, Site site) {
  Graph& graph = graph_of(images, contrast_factor);
  const NameScope scope(graph, "adjust_contrast", site);
  const FloatImage given(graph, images, "images", site);
  const Tensor changed = adjusted("AdjustContrastv2", scope.name(), given.pixels, "contrast_factor",
                                  contrast_factor, site);
  return convert_image_dtype(changed, given.dtype, {.saturate = true}, site);
}

Tensor adjust_gamma(const Operand& image, const ScalarOperand& gamma, const ScalarOperand& gain,
                    Site site) {
  Graph& graph = graph_of(image, gamma);
  const NameScope scope(graph, "adjust_gamma", site);
  const FloatImage given(graph, image, "image", site);
  constexpr const char* kNegative = "Gamma should be a non-negative real number.";
  Operand exponent = gamma;
  if (const Tensor* tensor = gamma.tensor()) {
    const Tensor fits = greater_equal(*tensor, 0.0, {}, site);
    exponent = Operand(
        with_dependencies({Assert(fits, {Operand(kNegative, site)}, {}, site)}, *tensor, {}, site),
        site);
  } else if (gamma.nested() != nullptr) {
    const Array value = cast_elements(to_array(*gamma.nested()), DType::float64);
    if (value.flat<double>()[0] < 0) fail_range(kNegative, "adjust_gamma", site);
  }
  const Tensor corrected = pow(given.pixels, exponent, {.name = "pow"}, site);
  const Tensor scaled = gain.at(site) * corrected;
  return convert_image_dtype(scaled, given.dtype, {.saturate = true}, site);
}

Tensor adjust_hue(const Operand& image, const ScalarOperand& delta, AdjustColourOptions options,
                  Site site) {
  Graph& graph = graph_of(image, delta);
  const NameScope scope(graph, options.name.empty() ? "adjust_hue" : options.name, site);
  const FloatImage given(graph, image, "image", site);
  const Tensor turned = adjusted("AdjustHue", "", given.pixels, "delta", delta, site);
  return convert_image_dtype(turned, given.dtype, {}, site);
}

Tensor adjust_saturation(const Operand& image, const ScalarOperand& saturation_factor,
                         AdjustColourOptions options, Site site) {
  Graph& graph = graph_of(image, saturation_factor);
  const NameScope scope(graph, options.name.empty() ? "adjust_saturation" : options.name, site);
  const FloatImage given(graph, image, "image", site);
  const Tensor saturated =
      adjusted("AdjustSaturation", "", given.pixels, "scale", saturation_factor, site);
  return convert_image_dtype(saturated, given.dtype, {}, site);
}

Tensor random_brightness(const Operand& image, double max_delta, RandomAdjustOptions options,
                         Site site) {
  if (max_delta < 0) fail_range("max_delta must be non-negative.", "random_brightness", site);
  const Tensor delta = draw_adjustment(-max_delta, max_delta, options, site);
  return adjust_brightness(image, delta, site);
}

Tensor random_contrast(const Operand& image, double lower, double upper,
                       RandomAdjustOptions options, Site site) {
  check_factors(lower, upper, "random_contrast", site);
  const Tensor factor = draw_adjustment(lower, upper, options, site);
  return adjust_contrast(image, factor, site);
}

Tensor random_hue(const Operand& image, double max_delta, RandomAdjustOptions options, Site site) {
  if (max_delta > 0.5) fail_range("max_delta must be <= 0.5.", "random_hue", site);
  if (max_delta < 0) fail_range("max_delta must be non-negative.", "random_hue", site);
  const Tensor delta = draw_adjustment(-max_delta, max_delta, options, site);
  return adjust_hue(image, delta, {}, site);
}

Tensor random_saturation(const Operand& image, double lower, double upper,
                         RandomAdjustOptions options, Site site) {
  check_factors(lower, upper, "random_saturation", site);
  const Tensor factor = draw_adjustment(lower, upper, options, site);
  return adjust_saturation(image, factor, {}, site);
}

Tensor per_image_standardization(const Operand& image, Site site) {
  Graph& graph = graph_of(image);
  const NameScope scope(graph, "per_image_standardization", site);
  const Tensor given = convert_operand(graph, image, "image", std::nullopt);
  const Tensor checked = assert_at_least_3d(given, "per_image_standardization", site);
  const Tensor pixels = cast(checked, DType::float32, {}, site);
  const Tensor sizes = take_range(shape(pixels, {}, site), -3, std::nullopt, site);
  const Tensor count = reduce_prod(sizes, {}, site);
  const Tensor mean = reduce_mean(pixels, Axis{-1, -2, -3}, {.keepdims = true}, site);
  const Tensor deviation = deviation_of_images(pixels, site);
  const Tensor least = rsqrt(cast(count, DType::float32, {}, site), {}, site);
  const Tensor divisor = maximum(deviation, least, {}, site);
  const Tensor centred = Operand(pixels, site) - mean;
  return divide(centred, divisor, {.name = scope.name()}, site);
}

}  // namespace towerflow::image
