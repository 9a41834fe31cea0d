#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/family.h"
#include "ops/image/boxes.h"
#include "ops/image/crop_attrs.h"
#include "ops/image/crop_place.h"
#include "ops/image/crops.h"
#include "ops/kernel_dims.h"
#include "ops/nn/window_args.h"

namespace towerflow::image {
namespace {

/// Fails unless inputs `boxes` and `boxes` + 1 are boxes and the indices of their images. Returns
/// their number.
Dim require_boxes(const InferenceContext& context, std::size_t boxes) {
  nn::require_dtype(context, boxes, "boxes", {DType::float32});
  nn::require_dtype(context, boxes + 1, "box_ind", {DType::int32});
  nn::require_rank(context, boxes, 2);
  nn::require_rank(context, boxes + 1, 1);
  const Shape &all = context.shape(boxes), &images = context.shape(boxes + 1);
  if (all.has_rank() && all[1].known() && all[1] != 4)
    nn::fail_with_shapes(context, "a box has four numbers");
  if (!all.has_rank()) return images.has_rank() ? images[0] : Dim(std::nullopt);
  if (images.has_rank() && images[0].known()) {
    if (all[0].known() && all[0] != images[0])
      nn::fail_with_shapes(context, "Dimensions must be equal: each box has an image");
    return images[0];
  }
  return all[0];
}

/// Returns the values of an input of `count` sizes, unknown ones as None.
std::vector<Dim> sizes_from_input(const InferenceContext& context, std::size_t input,
                                  std::size_t count) {
  nn::require_rank(context, input, 1);
  const Shape& given = context.shape(input);
  if (given.has_rank() && given[0].known() && given[0] != static_cast<int>(count))
    nn::fail_with_shapes(context, fmt::format("Dimension must be {}", count));
  std::vector<Dim> sizes(count, Dim(std::nullopt));
  if (const Array* known = context.constant(input)) {
    const std::vector<std::int64_t> values = integers_of(*known);
    for (std::size_t i = 0; i < count; ++i) {
      if (values[i] >= 0) sizes[i] = Dim(values[i]);  // others are refused by the kernel
    }
  }
  return sizes;
}

void crop_and_resize_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "image",
                    {DType::float32, DType::float64, DType::int32, DType::uint8, DType::int16,
                     DType::int8, DType::int64, DType::uint16});
  nn::require_rank(context, 0, 4);
  const Dim boxes = require_boxes(context, 1);
  const std::vector<Dim> sizes = sizes_from_input(context, 3, 2);
  const Shape& image = context.shape(0);
  context.add_output(DType::float32,
                     Shape(std::vector<Dim>{boxes, sizes[0], sizes[1],
                                            image.has_rank() ? image[3] : Dim(std::nullopt)}));
}

void crop_grad_image_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "grads", {DType::float32});
  require_boxes(context, 1);
  context.add_output(context.attrs<CropGradImageAttrs>().dtype,
                     Shape(sizes_from_input(context, 3, 4)));
}

void crop_grad_boxes_shape(InferenceContext& context) {
  nn::require_dtype(context, 0, "grads", {DType::float32});
  nn::require_rank(context, 1, 4);
  context.add_output(DType::float32, Shape(std::vector<Dim>{require_boxes(context, 2), Dim(4)}));
}

std::vector<OptionalGradient> crop_and_resize_gradient(const Operation& op,
                                                       const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor image = op.input(0);
  std::optional<Tensor> dimage;
  if (image.dtype() == DType::float32 || image.dtype() == DType::float64) {
    const Operand size = image.shape().fully_known() ? Operand(image.shape(), site)
                                                     : Operand(shape(image, {}, site), site);
    dimage = OpBuilder("CropAndResizeGradImage", "", site, {})
                 .input(dy, "grads")
                 .input(op.input(1), "boxes")
                 .input(op.input(2), "box_ind")
                 .input(size, "image_size", DType::int32)
                 .attrs(CropGradImageAttrs{image.dtype(), op.attrs().as<CropAttrs>().method})
                 .output();
  }
  const Tensor dboxes = OpBuilder("CropAndResizeGradBoxes", "", site, {})
                            .input(dy, "grads")
                            .input(image, "image")
                            .input(op.input(1), "boxes")
                            .input(op.input(2), "box_ind")
                            .attrs(CropGradAttrs{})
                            .output();
  if (!dimage) return {std::nullopt, dboxes, std::nullopt, std::nullopt};
  return {*dimage, dboxes, std::nullopt, std::nullopt};
}

/// Rows of crops are independent.
template <class T>
class CropKernel final : public CpuKernel {
 public:
  CropKernel(const Crops& crops, float outside) : c_(crops), outside_(outside) {}
  int slices(int) const override {
    return row_slices(c_.boxes * c_.crop_height, c_.crop_width * c_.channels);
  }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const auto* boxes = static_cast<const float*>(inputs[1]);
    const SliceRange part = slice_range(c_.boxes * c_.crop_height, slices(0), slice);
    float* y = static_cast<float*>(outputs[0]) + part.begin * c_.crop_width * c_.channels;
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const std::int64_t box = i / c_.crop_height;
      const std::int64_t image =
          c_.image_of(boxes, static_cast<const std::int32_t*>(inputs[2]), box);
      crop_row(static_cast<const T*>(inputs[0]) + image * c_.image_elements(), boxes + 4 * box,
               i % c_.crop_height, y);
      y += c_.crop_width * c_.channels;
    }
  }

 private:
  void crop_row(const T* image, const float* box, std::int64_t row, float* y) const {
    const CropPlace<std::int64_t> at(box[0], box[2], c_.height, c_.crop_height, row);
    for (std::int64_t x = 0; x < c_.crop_width; ++x, y += c_.channels) {
      const CropPlace<std::int64_t> to(box[1], box[3], c_.width, c_.crop_width, x);
      if (!at.inside || !to.inside) {
        std::fill_n(y, c_.channels, outside_);
      } else if (c_.nearest) {
        const T* pixel = image + (at.closest * c_.width + to.closest) * c_.channels;
        for (std::int64_t c = 0; c < c_.channels; ++c) y[c] = static_cast<float>(pixel[c]);
      } else {
        const T* top = image + at.before * c_.width * c_.channels;
        const T* bottom = image + at.after * c_.width * c_.channels;
        for (std::int64_t c = 0; c < c_.channels; ++c) {
          const std::int64_t left = to.before * c_.channels + c, right = to.after * c_.channels + c;
          const auto top_left = static_cast<float>(top[left]);
          const auto bottom_left = static_cast<float>(bottom[left]);
          const float above = top_left + (static_cast<float>(top[right]) - top_left) * to.share;
          const float below =
              bottom_left + (static_cast<float>(bottom[right]) - bottom_left) * to.share;
          y[c] = above + (below - above) * at.share;
        }
      }
    }
  }

  Crops c_;
  float outside_;
};

/// Adds what the crops of an image received to its pixels. Images are independent.
template <class T>
class CropGradImageKernel final : public CpuKernel {
 public:
  explicit CropGradImageKernel(const Crops& crops) : c_(crops) {}
  int slices(int) const override {
    return static_cast<int>(std::clamp<std::int64_t>(c_.images, 1, kMaxSlices));
  }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const auto* boxes = static_cast<const float*>(inputs[1]);
    const SliceRange part = slice_range(c_.images, slices(0), slice);
    T* dx = static_cast<T*>(outputs[0]);
    std::fill(dx + part.begin * c_.image_elements(), dx + part.end * c_.image_elements(), T(0));
    for (std::int64_t box = 0; box < c_.boxes; ++box) {
      const std::int64_t image =
          c_.image_of(boxes, static_cast<const std::int32_t*>(inputs[2]), box);
      if (image < part.begin || image >= part.end) continue;
      add_crop(static_cast<const float*>(inputs[0]) + box * c_.crop_elements(), boxes + 4 * box,
               dx + image * c_.image_elements());
    }
  }

 private:
  void add_crop(const float* dy, const float* box, T* dx) const {
    for (std::int64_t y = 0; y < c_.crop_height; ++y) {
      const CropPlace<std::int64_t> at(box[0], box[2], c_.height, c_.crop_height, y);
      for (std::int64_t x = 0; x < c_.crop_width; ++x, dy += c_.channels) {
        const CropPlace<std::int64_t> to(box[1], box[3], c_.width, c_.crop_width, x);
        if (!at.inside || !to.inside) continue;
        if (c_.nearest) {
          add_pixel(dy, 1, 1, dx + (at.closest * c_.width + to.closest) * c_.channels);
          continue;
        }
        T* top = dx + at.before * c_.width * c_.channels;
        T* bottom = dx + at.after * c_.width * c_.channels;
        const std::int64_t left = to.before * c_.channels, right = to.after * c_.channels;
        add_pixel(dy, 1 - at.share, 1 - to.share, top + left);
        add_pixel(dy, 1 - at.share, to.share, top + right);
        add_pixel(dy, at.share, 1 - to.share, bottom + left);
        add_pixel(dy, at.share, to.share, bottom + right);
      }
    }
  }
  void add_pixel(const float* dy, float row_share, float column_share, T* dx) const {
    for (std::int64_t c = 0; c < c_.channels; ++c)
      dx[c] += static_cast<T>(column_share * (row_share * dy[c]));
  }

  Crops c_;
};

/// The boxes are independent.
template <class T>
class CropGradBoxesKernel final : public CpuKernel {
 public:
  explicit CropGradBoxesKernel(const Crops& crops) : c_(crops) {}
  int slices(int) const override { return row_slices(c_.boxes, c_.crop_elements()); }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const auto* boxes = static_cast<const float*>(inputs[2]);
    const SliceRange part = slice_range(c_.boxes, slices(0), slice);
    for (std::int64_t box = part.begin; box < part.end; ++box) {
      const std::int64_t image =
          c_.image_of(boxes, static_cast<const std::int32_t*>(inputs[3]), box);
      differentiate(static_cast<const float*>(inputs[0]) + box * c_.crop_elements(),
                    static_cast<const T*>(inputs[1]) + image * c_.image_elements(), boxes + 4 * box,
                    static_cast<float*>(outputs[0]) + 4 * box);
    }
  }

 private:
  /// A corner moves place i of a crop by the part that remains to the other corner.
  static void add_slope(float slope, std::int64_t size, std::int64_t crop_size, std::int64_t i,
                        float& first, float& last) {
    const auto span = static_cast<float>(size - 1);
    if (crop_size > 1) {
      const float moved = static_cast<float>(i) * (span / static_cast<float>(crop_size - 1));
      first += slope * (span - moved);
      last += slope * moved;
    } else {
      first += slope * 0.5F * span;
      last += slope * 0.5F * span;
    }
  }

  void differentiate(const float* dy, const T* image, const float* box, float* dbox) const {
    std::fill_n(dbox, 4, 0.0F);
    for (std::int64_t y = 0; y < c_.crop_height; ++y) {
      const CropPlace<std::int64_t> at(box[0], box[2], c_.height, c_.crop_height, y);
      for (std::int64_t x = 0; x < c_.crop_width; ++x, dy += c_.channels) {
        const CropPlace<std::int64_t> to(box[1], box[3], c_.width, c_.crop_width, x);
        if (!at.inside || !to.inside) continue;
        const T* top = image + at.before * c_.width * c_.channels;
        const T* bottom = image + at.after * c_.width * c_.channels;
        for (std::int64_t c = 0; c < c_.channels; ++c) {
          const std::int64_t left = to.before * c_.channels + c, right = to.after * c_.channels + c;
          const auto top_left = static_cast<float>(top[left]);
          const auto top_right = static_cast<float>(top[right]);
          const auto bottom_left = static_cast<float>(bottom[left]);
          const auto bottom_right = static_cast<float>(bottom[right]);
          const float down =
              (bottom_left - top_left) * (1 - to.share) + (bottom_right - top_right) * to.share;
          const float across =
              (top_right - top_left) * (1 - at.share) + (bottom_right - bottom_left) * at.share;
          add_slope(down * dy[c], c_.height, c_.crop_height, y, dbox[0], dbox[2]);
          add_slope(across * dy[c], c_.width, c_.crop_width, x, dbox[1], dbox[3]);
        }
      }
    }
  }

  Crops c_;
};

/// Calls `make.template operator()<T>()` with the type of an image.
template <class Make>
std::unique_ptr<PreparedKernel> for_image_type(DType dtype, Make make) {
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) kernel = make.template operator()<T>();
  });
  return kernel;
}

void check_box_shapes(const Shape& boxes, const Shape& images) {
  if (boxes.rank() == 2 && boxes.size(1) == 4 && images.rank() == 1 &&
      images.size(0) == boxes.size(0))
    return;
  throw errors::InvalidArgumentError(fmt::format(
      "boxes must be [n, 4] and box_ind [n], got shapes {} and {}", boxes.text(), images.text()));
}

void check_image_rank(const Shape& shape, const char* what) {
  if (shape.rank() == 4) return;
  throw errors::InvalidArgumentError(
      fmt::format("{} must be 4-D, got shape {}", what, shape.text()));
}

}  // namespace

Crops::Crops(const Shape& image, const Shape& crop, bool nearest_pixels)
    : images(image.size(0)),
      height(image.size(1)),
      width(image.size(2)),
      channels(image.size(3)),
      boxes(crop.size(0)),
      crop_height(crop.size(1)),
      crop_width(crop.size(2)),
      nearest(nearest_pixels) {
  if (height <= 0 || width <= 0)
    throw errors::InvalidArgumentError("image dimensions must be positive");
  if (crop_height <= 0 || crop_width <= 0)
    throw errors::InvalidArgumentError("crop dimensions must be positive");
  if (crop.size(3) != channels)
    throw errors::InvalidArgumentError("crops must have the channels of the images");
}

std::exception_ptr Crops::not_finite(std::int64_t index) {
  return std::make_exception_ptr(errors::InvalidArgumentError(
      fmt::format("Boxes contains at least one element that is not finite: box {}", index)));
}

std::exception_ptr Crops::no_image(std::int64_t image, std::int64_t index) const {
  return std::make_exception_ptr(errors::OutOfRangeError(
      fmt::format("box_index has values outside [0, batch_size): {} of box {}, for {} images",
                  image, index, images)));
}

std::int64_t Crops::image_of(const float* box, const std::int32_t* image,
                             std::int64_t index) const {
  for (int i = 0; i < 4; ++i) {
    if (!std::isfinite(box[index * 4 + i])) std::rethrow_exception(not_finite(index));
  }
  const std::int64_t one = image[index];
  if (one < 0 || one >= images) std::rethrow_exception(no_image(one, index));
  return one;
}

Crops crops_of(const KernelRequest& request) {
  const Shape &image = request.inputs[0].shape, &boxes = request.inputs[1].shape;
  check_image_rank(image, "input image");
  check_box_shapes(boxes, request.inputs[2].shape);
  const std::vector<std::int64_t> size = integers_of(request.values.at(3));
  if (size.size() != 2) throw errors::InvalidArgumentError("crop_size must have two elements");
  if (size[0] <= 0 || size[1] <= 0)
    throw errors::InvalidArgumentError("crop dimensions must be positive");
  return {image, Shape{boxes.size(0), size[0], size[1], image.size(3)},
          request.attributes<CropAttrs>().method == "nearest"};
}

Crops crops_of_grad_image(const KernelRequest& request) {
  const Shape& dy = request.inputs[0].shape;
  check_image_rank(dy, "grads");
  check_box_shapes(request.inputs[1].shape, request.inputs[2].shape);
  const std::vector<std::int64_t> size = integers_of(request.values.at(3));
  if (size.size() != 4 || *std::min_element(size.begin(), size.end()) < 0 ||
      dy.size(0) != request.inputs[1].shape.size(0))
    throw errors::InvalidArgumentError("image_size must be four sizes, and grads have the boxes");
  return {Shape{size[0], size[1], size[2], size[3]}, dy,
          request.attributes<CropGradImageAttrs>().method == "nearest"};
}

Crops crops_of_grad_boxes(const KernelRequest& request) {
  const Shape &dy = request.inputs[0].shape, &image = request.inputs[1].shape;
  check_image_rank(dy, "grads");
  check_image_rank(image, "image");
  check_box_shapes(request.inputs[2].shape, request.inputs[3].shape);
  if (dy.size(0) != request.inputs[2].shape.size(0))
    throw errors::InvalidArgumentError("grads must have the boxes");
  return {image, dy, false};
}

namespace {

std::unique_ptr<PreparedKernel> crop_kernel(const KernelRequest& request) {
  const Crops crops = crops_of(request);
  const float outside = request.attributes<CropAttrs>().extrapolation_value;
  return for_image_type(request.inputs[0].dtype, [&]<class T>() {
    return sliced_kernel(std::make_unique<CropKernel<T>>(crops, outside));
  });
}

std::unique_ptr<PreparedKernel> crop_grad_image_kernel(const KernelRequest& request) {
  const Crops crops = crops_of_grad_image(request);
  if (request.attributes<CropGradImageAttrs>().dtype == DType::float32)
    return sliced_kernel(std::make_unique<CropGradImageKernel<float>>(crops));
  return sliced_kernel(std::make_unique<CropGradImageKernel<double>>(crops));
}

std::unique_ptr<PreparedKernel> crop_grad_boxes_kernel(const KernelRequest& request) {
  const Crops crops = crops_of_grad_boxes(request);
  return for_image_type(request.inputs[1].dtype, [&]<class T>() {
    return sliced_kernel(std::make_unique<CropGradBoxesKernel<T>>(crops));
  });
}

}  // namespace

static void register_crop_and_resize_ops(OpRegistry& registry) {
  registry.add({.name = "CropAndResize",
                .inputs = {"image: T", "boxes: float32", "box_ind: int32", "crop_size: int32"},
                .outputs = {"crops: float32"},
                .attrs = attributes<CropAttrs>(),
                .shape = crop_and_resize_shape,
                .gradient = crop_and_resize_gradient,
                .static_inputs = {3}});
  const NoGradient none{"TensorFlow has no second derivative of it", false};
  registry.add(
      {.name = "CropAndResizeGradImage",
       .inputs = {"grads: float32", "boxes: float32", "box_ind: int32", "image_size: int32"},
       .outputs = {"output: T"},
       .attrs = attributes<CropGradImageAttrs>(),
       .shape = crop_grad_image_shape,
       .gradient = none,
       .static_inputs = {3}});
  registry.add({.name = "CropAndResizeGradBoxes",
                .inputs = {"grads: float32", "image: T", "boxes: float32", "box_ind: int32"},
                .outputs = {"output: float32"},
                .attrs = attributes<CropGradAttrs>(),
                .shape = crop_grad_boxes_shape,
                .gradient = none});
}

static void register_crop_and_resize_kernels(KernelTable& table) {
  table.add({.op = "CropAndResize", .label = "rows", .accepts = {}, .prepare = crop_kernel});
  table.add({.op = "CropAndResizeGradImage",
             .label = "images",
             .accepts =
                 [](const KernelRequest& request) {
                   return request.outputs[0].dtype == DType::float32 ||
                          request.outputs[0].dtype == DType::float64;
                 },
             .prepare = crop_grad_image_kernel});
  table.add({.op = "CropAndResizeGradBoxes",
             .label = "boxes",
             .accepts = {},
             .prepare = crop_grad_boxes_kernel});
}

Tensor crop_and_resize(const Operand& image, const Operand& boxes, const Operand& box_ind,
                       const Operand& crop_size, CropAndResizeOptions options, Site site) {
  if (options.method != "bilinear" && options.method != "nearest") {
    throw ValueError(fmt::format("Value for attr 'method' of '{}' is not in the list of allowed "
                                 "values: 'bilinear', 'nearest'",
                                 options.method),
                     {.site = site, .op = "CropAndResize"});
  }
  return OpBuilder("CropAndResize", options.name, site, {&image, &boxes, &box_ind, &crop_size})
      .input(image, "image")
      .input(boxes, "boxes", DType::float32)
      .input(box_ind, "box_ind", DType::int32)
      .input(crop_size, "crop_size", DType::int32)
      .attrs(CropAttrs{options.method, static_cast<float>(options.extrapolation_value)})
      .output();
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily crop_and_resize_family() {
  return {.ops = image::register_crop_and_resize_ops,
          .kernels = image::register_crop_and_resize_kernels};
}
}  // namespace towerflow
