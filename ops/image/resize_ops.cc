// The ops of resize_bilinear, resize_nearest_neighbor, resize_bicubic and resize_area.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/family.h"
#include "ops/image/resize_attrs.h"
#include "ops/image/resized_images.h"
#include "ops/kernel_dims.h"
#include "ops/nn/kernels.h"
#include "ops/nn/window_args.h"

namespace towerflow::image {
namespace {

const std::initializer_list<DType> kResizable = {DType::float32, DType::float64, DType::int32,
                                                 DType::uint8,   DType::int16,   DType::int8,
                                                 DType::int64,   DType::uint16};

/// Adds an output with the height and width that input 1 says.
void add_resized_output(InferenceContext& context, DType dtype) {
  nn::require_rank(context, 0, 4);
  const Shape& size = context.shape(1);
  if (size.has_rank() && size.rank() != 1)
    context.fail(
        fmt::format("Shape must be rank 1 but is rank {}: a size is [height, width]", size.rank()));
  if (size.has_rank() && size[0].known() && size[0] != 2)
    context.fail(
        fmt::format("Dimension must be 2 but is {}: a size is [height, width]", size[0].size()));
  const Shape& images = context.shape(0);
  std::vector<Dim> sizes(4, Dim(std::nullopt));
  if (images.has_rank()) sizes = {images[0], None, None, images[3]};
  if (const Array* known = context.constant(1)) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t one = integers_of(*known)[i];
      if (one >= 0) sizes[i + 1] = Dim(one);  // others are refused by the kernel
    }
  }
  context.add_output(dtype, Shape(std::move(sizes)));
}

template <DType kResult>  // invalid: as the images
void resize_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "images", kResizable);
  add_resized_output(context, kResult == DType::invalid ? context.dtype(0) : kResult);
}

void nearest_grad_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "grads",
                    {DType::float32, DType::float64, DType::uint8, DType::int8, DType::int32});
  add_resized_output(context, context.dtype(0));
}

/// For gradients whose second operand is the original image.
void resize_grad_shape(InferenceContext& context) {
  nn::require_dtype(context, 1, "original_image", nn::kFloats);
  nn::require_rank(context, 0, 4);
  nn::require_rank(context, 1, 4);
  context.add_output(context.dtype(1), context.shape(1));
}

std::vector<OptionalGradient> resize_gradient(const char* op_name, const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  if (!is_floating(op.input(0).dtype())) return {std::nullopt, std::nullopt};
  return {op.graph()
              .add({.op = op_name,
                    .name = op_name,
                    .inputs = {dense_gradient(dys[0], op.site()), op.input(0)},
                    .attrs = op.attrs(),
                    .site = op.site()})
              .output(0),
          std::nullopt};
}

std::vector<OptionalGradient> bilinear_gradient(const Operation& op,
                                                const std::vector<OptionalGradient>& dys) {
  return resize_gradient("ResizeBilinearGrad", op, dys);
}

std::vector<OptionalGradient> bicubic_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  return resize_gradient("ResizeBicubicGrad", op, dys);
}

std::vector<OptionalGradient> nearest_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor images = op.input(0);
  if (!is_floating(images.dtype())) return {std::nullopt, std::nullopt};
  const Tensor dy = dense_gradient(dys[0], site);
  const Shape& known = images.shape();
  const bool is_known = known.has_rank() && known[1].known() && known[2].known();
  const Operand size = is_known ? Operand(std::vector<int>{static_cast<int>(known.size(1)),
                                                           static_cast<int>(known.size(2))},
                                          site)
                                : Operand(take_range(shape(images, {}, site), 1, 3, site), site);
  return {OpBuilder("ResizeNearestNeighborGrad", "", site, {&size})
              .input(dy, "grads")
              .input(size, "size", DType::int32)
              .attrs(op.attrs())
              .output(),
          std::nullopt};
}

using MakeTaps = Taps (*)(std::int64_t in, std::int64_t out, PixelCenters centers);

Taps area_taps_of(std::int64_t in, std::int64_t out, PixelCenters centers) {
  return area_taps(in, out, centers.align_corners);
}

template <MakeTaps kTaps>
std::unique_ptr<PreparedKernel> interpolating_kernel(const KernelRequest& request) {
  const PixelCenters centers = centers_of(*request.attrs);
  check_pixel_centers(centers);
  const ResizedImages sizes(request.inputs[0].shape, request.values.at(1));
  Resampling resampling{sizes.number,
                        sizes.height,
                        sizes.width,
                        sizes.channels,
                        kTaps(sizes.height, sizes.new_height, centers),
                        kTaps(sizes.width, sizes.new_width, centers)};
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_dtype(request.inputs[0].dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T> ||
                  (!std::is_same_v<T, bool> && !std::is_same_v<T, std::uint32_t> &&
                   !std::is_same_v<T, std::uint64_t>))
      kernel = resampling_kernel<T, float, float>(std::move(resampling));
  });
  return kernel;
}

/// The gradient sends what each pixel of the result received back to the image.
template <MakeTaps kTaps>
std::unique_ptr<PreparedKernel> interpolating_grad_kernel(const KernelRequest& request) {
  const PixelCenters centers = centers_of(*request.attrs);
  check_pixel_centers(centers);
  const Shape &dy = request.inputs[0].shape, &image = request.inputs[1].shape;
  const ResizedImages sizes(image, dy);
  if (dy.size(0) != sizes.number || dy.size(3) != sizes.channels) {
    throw errors::InvalidArgumentError(fmt::format(
        "grads of shape {} do not fit original images of shape {}", dy.text(), image.text()));
  }
  Resampling resampling{sizes.number,
                        sizes.new_height,
                        sizes.new_width,
                        sizes.channels,
                        kTaps(sizes.height, sizes.new_height, centers).transposed(sizes.height),
                        kTaps(sizes.width, sizes.new_width, centers).transposed(sizes.width)};
  if (request.inputs[1].dtype == DType::float32)
    return resampling_kernel<float, float, float>(std::move(resampling));
  return resampling_kernel<float, double, double>(std::move(resampling));
}

/// Copies rows of chosen pixels. A row like the one before is copied from there.
template <class T>
class NearestKernel final : public CpuKernel {
 public:
  NearestKernel(const ResizedImages& sizes, PixelCenters centers)
      : s_(sizes),
        rows_(nearest_taps(sizes.height, sizes.new_height, centers).index),
        columns_(nearest_taps(sizes.width, sizes.new_width, centers).index) {}
  int slices(int) const override {
    return row_slices(s_.number * s_.new_height, s_.new_width * s_.channels);
  }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const auto* x = static_cast<const T*>(inputs[0]);
    auto* y = static_cast<T*>(outputs[0]);
    const SliceRange part = slice_range(s_.number * s_.new_height, slices(0), slice);
    const std::int64_t row = s_.new_width * s_.channels;
    std::int64_t before = -1;
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const std::int64_t from =
          i / s_.new_height * s_.height + rows_[static_cast<std::size_t>(i % s_.new_height)];
      if (from == before)
        std::copy_n(y + (i - 1) * row, row, y + i * row);
      else
        copy_pixels(x + from * s_.width * s_.channels, y + i * row);
      before = from;
    }
  }

 private:
  void copy_pixels(const T* x, T* y) const {
    switch (s_.channels) {
      case 1:
        return copy_pixels_of<1>(x, y);
      case 3:
        return copy_pixels_of<3>(x, y);
      case 4:
        return copy_pixels_of<4>(x, y);
      default:
        return copy_pixels_of<0>(x, y);
    }
  }
  /// `kChannels` is 0 for any number of channels.
  template <std::int64_t kChannels>
  void copy_pixels_of(const T* x, T* y) const {
    const std::int64_t channels = kChannels == 0 ? s_.channels : kChannels;
    for (const std::int64_t column : columns_) {
      const T* pixel = x + column * channels;
      for (std::int64_t c = 0; c < channels; ++c) y[c] = pixel[c];
      y += channels;
    }
  }

  ResizedImages s_;
  std::vector<std::int64_t> rows_, columns_;
};

std::unique_ptr<PreparedKernel> nearest_kernel(const KernelRequest& request) {
  const ResizedImages sizes(request.inputs[0].shape, request.values.at(1));
  const PixelCenters centers = centers_of(*request.attrs);
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_copyable(request.inputs[0].dtype, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>)
      kernel = sliced_kernel(std::make_unique<NearestKernel<T>>(sizes, centers));
  });
  return kernel;
}

std::unique_ptr<PreparedKernel> nearest_grad_kernel(const KernelRequest& request) {
  const PixelCenters centers = centers_of(*request.attrs);
  // The sizes of the gradient, which is made smaller or larger like the image, are those of dy.
  const ResizedImages sizes(request.inputs[0].shape, request.values.at(1));
  Resampling resampling{
      sizes.number,
      sizes.height,
      sizes.width,
      sizes.channels,
      nearest_taps(sizes.new_height, sizes.height, centers).transposed(sizes.new_height),
      nearest_taps(sizes.new_width, sizes.width, centers).transposed(sizes.new_width)};
  switch (request.inputs[0].dtype) {
    case DType::float32:
      return resampling_kernel<float, float, float>(std::move(resampling));
    case DType::float64:
      return resampling_kernel<double, double, double>(std::move(resampling));
    case DType::int32:  // unsigned numbers wrap around like TensorFlow's
      return resampling_kernel<std::uint32_t, std::uint32_t, std::uint32_t>(std::move(resampling));
    default:
      return resampling_kernel<std::uint8_t, std::uint8_t, std::uint8_t>(std::move(resampling));
  }
}

}  // namespace

static void register_resize_ops(OpRegistry& registry) {
  const auto add = [&](const char* name, const char* output, AttrsDef attrs, ShapeRule shape_rule,
                       OpGradient gradient) {
    registry.add({.name = name,
                  .inputs = {"images: T", "size: int32"},
                  .outputs = {output},
                  .attrs = std::move(attrs),
                  .shape = std::move(shape_rule),
                  .gradient = std::move(gradient),
                  .static_inputs = {1}});
  };
  const auto attrs = attributes<ResizeAttrs>();
  add("ResizeBilinear", "resized_images: float32", attrs, resize_shape<DType::float32>,
      bilinear_gradient);
  add("ResizeBicubic", "resized_images: float32", attrs, resize_shape<DType::float32>,
      bicubic_gradient);
  add("ResizeNearestNeighbor", "resized_images: T", attrs, resize_shape<DType::invalid>,
      nearest_gradient);
  add("ResizeArea", "resized_images: float32", attributes<ResizeAreaAttrs>(),
      resize_shape<DType::float32>, NoGradient{"TensorFlow has no gradient of it", false});
  registry.add({.name = "ResizeBilinearGrad",
                .inputs = {"grads: float32", "original_image: T"},
                .outputs = {"output: T"},
                .attrs = attrs,
                .shape = resize_grad_shape,
                .gradient = NoGradient{"TensorFlow declares no second derivative of it"}});
  registry.add({.name = "ResizeBicubicGrad",
                .inputs = {"grads: float32", "original_image: T"},
                .outputs = {"output: T"},
                .attrs = attrs,
                .shape = resize_grad_shape,
                .gradient = NoGradient{"TensorFlow has no second derivative of it", false}});
  registry.add({.name = "ResizeNearestNeighborGrad",
                .inputs = {"grads: T", "size: int32"},
                .outputs = {"output: T"},
                .attrs = attrs,
                .shape = nearest_grad_shape,
                .gradient = NoGradient{"TensorFlow has no second derivative of it", false},
                .static_inputs = {1}});
}

static void register_resize_kernels(KernelTable& table) {
  const auto add = [&](const char* op, const char* label,
                       std::unique_ptr<PreparedKernel> (*prepare)(const KernelRequest&)) {
    table.add({.op = op, .label = label, .accepts = {}, .prepare = prepare});
  };
  add("ResizeBilinear", "rows", interpolating_kernel<bilinear_taps>);
  add("ResizeBicubic", "rows", interpolating_kernel<bicubic_taps>);
  add("ResizeArea", "rows", interpolating_kernel<area_taps_of>);
  add("ResizeNearestNeighbor", "copy", nearest_kernel);
  add("ResizeBilinearGrad", "rows", interpolating_grad_kernel<bilinear_taps>);
  add("ResizeBicubicGrad", "rows", interpolating_grad_kernel<bicubic_taps>);
  add("ResizeNearestNeighborGrad", "rows", nearest_grad_kernel);
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily resize_family() {
  return {.ops = image::register_resize_ops, .kernels = image::register_resize_kernels};
}
}  // namespace towerflow
