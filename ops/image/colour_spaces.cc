#include "ops/image/colour_spaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/rank_size.h"
#include "ops/array/stack.h"
#include "ops/array/tile.h"
#include "ops/array/view.h"
#include "ops/control/tuple.h"
#include "ops/family.h"
#include "ops/image/checks.h"
#include "ops/image/convert_dtype.h"
#include "ops/math/binary.h"
#include "ops/math/tensordot.h"
#include "ops/math/unary.h"
#include "ops/nn/window_args.h"
#include "ops/range_kernel.h"

namespace towerflow::image {
namespace {

void colour_space_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "images", nn::kFloats);
  Shape images = context.shape(0);
  if (images.has_rank()) {
    if (images.rank() == 0) context.fail("Shape must be at least rank 1 but is rank 0");
    const Dim channels = images[images.rank() - 1];
    if (channels.known() && channels != 3)
      context.fail(fmt::format("Dimension must be 3 but is {}: a colour has three channels",
                               channels.size()));
    std::vector<Dim> dims = images.dims();
    dims.back() = Dim(3);
    images = Shape(std::move(dims));
  }
  context.add_output(context.dtype(0), images);
}

template <class T>
void rgb_to_hsv_pixel(const T* rgb, T* hsv) {
  const T r = rgb[0], g = rgb[1], b = rgb[2];
  const T value = std::max(r, std::max(g, b));
  const T range = value - std::min(r, std::min(g, b));
  const T norm = T(1) / range * (T(1) / T(6));
  T hue = norm * (r - g) + T(4) / T(6);
  if (g == value) hue = norm * (b - r) + T(2) / T(6);
  if (r == value) hue = norm * (g - b);
  if (!(range > T(0))) hue = T(0);
  hsv[0] = hue < T(0) ? hue + T(1) : hue;
  hsv[1] = value > T(0) ? range / value : T(0);
  hsv[2] = value;
}

/// Converts pixels in blocks with a row for each channel, which become vector code.
template <class T>
void hsv_to_rgb_pixels(const T* hsv, T* rgb, std::int64_t pixels) {
  constexpr std::int64_t kBlock = 64;
  T channel[3][kBlock];
  const auto limited = [](T x) { return std::min(std::max(x, T(0)), T(1)); };
  for (std::int64_t first = 0; first < pixels; first += kBlock) {
    const std::int64_t count = std::min(kBlock, pixels - first);
    const T* in = hsv + 3 * first;
    T* out = rgb + 3 * first;
    for (std::int64_t i = 0; i < count; ++i)
      for (int c = 0; c < 3; ++c) channel[c][i] = in[3 * i + c];
    for (std::int64_t i = 0; i < count; ++i) {
      const T sector = channel[0][i] * T(6), saturation = channel[1][i], value = channel[2][i];
      const T red = limited(std::abs(sector - T(3)) - T(1));
      const T green = limited(T(2) - std::abs(sector - T(2)));
      const T blue = limited(T(2) - std::abs(sector - T(4)));
      channel[0][i] = (T(1) - saturation + saturation * red) * value;
      channel[1][i] = (T(1) - saturation + saturation * green) * value;
      channel[2][i] = (T(1) - saturation + saturation * blue) * value;
    }
    for (std::int64_t i = 0; i < count; ++i)
      for (int c = 0; c < 3; ++c) out[3 * i + c] = channel[c][i];
  }
}

template <bool kToHsv>
std::unique_ptr<PreparedKernel> colour_space_kernel(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  if (shape.rank() == 0 || shape.size(shape.rank() - 1) != 3) {
    throw errors::InvalidArgumentError(
        fmt::format("images must have 3 channels, got shape {}", shape.text()));
  }
  const auto make = [&]<class T>() {
    return rows_kernel(shape.elements() / 3, 3,
                       [](SliceRange range, const void* const* inputs, void* const* outputs) {
                         const T* x = static_cast<const T*>(inputs[0]) + 3 * range.begin;
                         T* y = static_cast<T*>(outputs[0]) + 3 * range.begin;
                         if constexpr (kToHsv) {
                           for (std::int64_t i = 0; i < range.size(); ++i, x += 3, y += 3)
                             rgb_to_hsv_pixel(x, y);
                         } else {
                           hsv_to_rgb_pixels(x, y, range.size());
                         }
                       });
  };
  if (request.inputs[0].dtype == DType::float32) return make.template operator()<float>();
  return make.template operator()<double>();
}

/// The masks, colours and slopes of the derivatives of hue, saturation and value. If two numbers
/// are equal, red counts as larger than green and green as larger than blue.
class HsvGradient {
 public:
  HsvGradient(const Operation& op, const Tensor& dy)
      : site_(op.site()), dtype_(dy.dtype()), dys_(unstack(dy, 3, {.axis = -1}, site_)) {
    const std::vector<Tensor> colours = unstack(op.input(0), 3, {.axis = -1}, site_);
    const std::vector<Tensor> hsv = unstack(op.output(0), 3, {.axis = -1}, site_);
    range_ = times(hsv[1], hsv[2]);
    for (std::size_t i = 0; i < 3; ++i) colour_[i] = colours[i];
    const Tensor &r = colour_[0], &g = colour_[1], &b = colour_[2];
    biggest_[0] = both(greater_equal(r, b, {}, site_), greater_equal(r, g, {}, site_));
    biggest_[1] = both(greater(g, r, {}, site_), greater_equal(g, b, {}, site_));
    biggest_[2] = both(greater(b, r, {}, site_), greater(b, g, {}, site_));
    smallest_[0] = both(less(r, b, {}, site_), less(r, g, {}, site_));
    smallest_[1] = both(less_equal(g, r, {}, site_), less(g, b, {}, site_));
    smallest_[2] = both(less_equal(b, r, {}, site_), less_equal(b, g, {}, site_));
  }

  /// Returns the gradient of the RGB colours.
  Tensor result() const {
    std::vector<Tensor> sums;
    for (std::size_t i = 0; i < 3; ++i) {
      const Tensor of_value = times(dys_[2], biggest_[i]);
      const Tensor of_saturation = times(dys_[1], saturation_slope(i));
      const Tensor of_hue = times(dys_[0], hue_slope(i));
      sums.push_back(plus(plus(of_value, of_saturation), of_hue));
    }
    return stack(sums, {.axis = -1}, site_);
  }

 private:
  Tensor both(const Tensor& a, const Tensor& b) const {
    return cast(logical_and(a, b, {}, site_), dtype_, {}, site_);
  }
  Tensor times(const Tensor& a, const Tensor& b) const { return multiply(a, b, {}, site_); }
  Tensor plus(const Tensor& a, const Tensor& b) const { return add(a, b, {}, site_); }
  Tensor minus(const Tensor& a, const Tensor& b) const { return subtract(a, b, {}, site_); }
  Tensor scaled(const Tensor& a, double factor) const { return multiply(a, factor, {}, site_); }
  /// Returns a / b, and 0 where b is 0.
  Tensor over(const Tensor& a, const Tensor& b) const { return div_no_nan(a, b, {}, site_); }
  Tensor is_positive(std::size_t i) const {
    return cast(greater(colour_[i], 0.0, {}, site_), dtype_, {}, site_);
  }

  /// s = 1 - smallest / biggest.
  Tensor saturation_slope(std::size_t i) const {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    const Tensor low = plus(times(smallest_[j], colour_[j]), times(smallest_[k], colour_[k]));
    const Tensor high = plus(times(biggest_[j], colour_[j]), times(biggest_[k], colour_[k]));
    const Tensor as_high = over(times(biggest_[i], low), square(colour_[i], {}, site_));
    const Tensor as_low = over(smallest_[i], high);
    return times(is_positive(i), minus(as_high, as_low));
  }

  /// h = (offset + (j - k) / (biggest - smallest)) / 6, where the biggest colour is followed by j
  /// and k in the order red, green, blue.
  Tensor hue_slope(std::size_t i) const {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    // As the biggest: the range grows with it.
    const Tensor from_both = minus(colour_[k], colour_[j]);
    Tensor slope =
        times(times(is_positive(i), biggest_[i]), over(from_both, square(range_, {}, site_)));
    // The biggest is k, which i follows: the numerator is i - j.
    slope = plus(slope, beside(k, i, j, 1));
    // The biggest is j, whose numerator is k - i.
    slope = plus(slope, beside(j, i, k, -1));
    return scaled(slope, 1.0 / 6);
  }

  /// Returns the slope of (i - other) / (biggest - smallest) in colour i, times `sign`, where
  /// `biggest` is the biggest colour.
  Tensor beside(std::size_t biggest, std::size_t i, std::size_t other, double sign) const {
    const Tensor own_range = minus(colour_[biggest], colour_[i]);
    const Tensor other_range = minus(colour_[biggest], colour_[other]);
    // With i as the smallest, both numerator and range depend on it.
    const Tensor as_low = times(smallest_[i], over(other_range, square(own_range, {}, site_)));
    const Tensor as_middle = over(smallest_[other], other_range);
    const Tensor chosen = times(is_positive(biggest), biggest_[biggest]);
    return scaled(times(chosen, plus(as_low, as_middle)), sign);
  }

  Site site_;
  DType dtype_;
  std::vector<Tensor> dys_;
  Tensor colour_[3], biggest_[3], smallest_[3];
  Tensor range_;  // the biggest number less the smallest
};

std::vector<OptionalGradient> rgb_to_hsv_gradient(const Operation& op,
                                                  const std::vector<OptionalGradient>& dys) {
  return {HsvGradient(op, dense_gradient(dys[0], op.site())).result()};
}

}  // namespace

static void register_colour_spaces_ops(OpRegistry& registry) {
  registry.add({.name = "RGBToHSV",
                .inputs = {"images: T"},
                .outputs = {"output: T"},
                .shape = colour_space_shape,
                .gradient = rgb_to_hsv_gradient});
  registry.add({.name = "HSVToRGB",
                .inputs = {"images: T"},
                .outputs = {"output: T"},
                .shape = colour_space_shape,
                .gradient = NoGradient{"TensorFlow declares hsv_to_rgb not differentiable"}});
}

static void register_colour_spaces_kernels(KernelTable& table) {
  table.add(
      {.op = "RGBToHSV", .label = "pixels", .accepts = {}, .prepare = colour_space_kernel<true>});
  table.add(
      {.op = "HSVToRGB", .label = "pixels", .accepts = {}, .prepare = colour_space_kernel<false>});
}

Tensor rgb_to_hsv(const Operand& images, ColourSpaceOptions options, Site site) {
  return OpBuilder("RGBToHSV", options.name, site, {&images}).input(images, "images").output();
}

Tensor hsv_to_rgb(const Operand& images, ColourSpaceOptions options, Site site) {
  return OpBuilder("HSVToRGB", options.name, site, {&images}).input(images, "images").output();
}

Tensor grayscale_to_rgb(const Operand& images, ColourSpaceOptions options, Site site) {
  Graph& graph = graph_of(images);
  const NameScope scope(graph, options.name.empty() ? "grayscale_to_rgb" : options.name, site);
  const Tensor x = convert_operand(graph, images, "images", std::nullopt);
  const Tensor checked = with_dependencies(check_greyscale(x, site), x, {}, site);
  const Tensor others = rank(checked, {}, site) - Operand(1, site);
  const Tensor count = expand_dims(others, 0, {}, site);
  const Tensor once = ones(count, {.dtype = DType::int32}, site);
  const Tensor three = expand_dims(3, 0, {}, site);
  const Tensor multiples = concat({once, three}, 0, {}, site);
  Tensor rgb = tile(checked, multiples, {.name = scope.name()}, site);
  const Shape& known = checked.shape();
  if (known.has_rank()) {
    std::vector<Dim> sizes(known.dims().begin(), known.dims().end() - 1);
    sizes.push_back(Dim(3));
    rgb.set_shape(Shape(std::move(sizes)), site);
  }
  return rgb;
}

Tensor rgb_to_grayscale(const Operand& images, ColourSpaceOptions options, Site site) {
  Graph& graph = graph_of(images);
  const NameScope scope(graph, options.name.empty() ? "rgb_to_grayscale" : options.name, site);
  const Tensor given = convert_operand(graph, images, "images", std::nullopt);
  const Tensor pixels = convert_image_dtype(given, DType::float32, {}, site);
  const Operand weights(std::vector<double>{0.2989, 0.5870, 0.1140}, site);
  const Tensor grey = tensordot(pixels, weights, {-1, -1}, {}, site);
  const Tensor channel = expand_dims(grey, -1, {}, site);
  return convert_image_dtype(channel, given.dtype(), {.name = scope.name()}, site);
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily colour_spaces_family() {
  return {.ops = image::register_colour_spaces_ops,
          .kernels = image::register_colour_spaces_kernels};
}
}  // namespace towerflow
