#include "ops/image/resize.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/shape_input.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/image/image_number.h"
#include "ops/image/resize_attrs.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace towerflow::image {
namespace {

template <class A>
Tensor resized(const char* op, const Operand& images, const Operand& size, A attrs,
               const std::string& name, Site site) {
  OpBuilder builder(op, name, site, {&images, &size});
  builder.input(images, "images");
  const DType dtype = builder.tensors()[0].dtype();
  if (dtype == DType::bool_ || dtype == DType::string) {  // before the size becomes a constant
    throw TypeError(fmt::format("Value passed to parameter 'images' has DataType {} not in list of "
                                "allowed values: numbers",
                                dtype_name(dtype)),
                    {.site = site, .op = op});
  }
  return builder.input(size, "size", DType::int32).attrs(attrs).output();
}

ResizeAttrs attrs_of(const ResizeOptions& options) {
  return {options.align_corners, options.half_pixel_centers};
}

[[noreturn]] void fail_resize(const std::string& message, Site site) {
  throw ValueError(message, {.site = site, .op = "resize_images"});
}

Tensor size_tensor(Graph& graph, const Operand& size, Site site) {
  const Tensor* tensor = size.tensor();
  if (tensor != nullptr && tensor->dtype() != DType::int32)
    fail_resize(
        fmt::format("'size' must be a 1-D int32 Tensor, not {}", dtype_name(tensor->dtype())),
        site);
  std::optional<Tensor> made;
  try {
    made = convert_operand(graph, size, "size", DType::int32);
  } catch (const TypeError&) {
  }
  if (!made) fail_resize("'size' must be a 1-D int32 Tensor", site);
  if (!made->shape().compatible(Shape{2})) {
    fail_resize("'size' must be a 1-D Tensor of 2 elements: new_height, new_width", site);
  }
  return *made;
}

/// Returns the largest size within `size` that has the proportions of the images.
Tensor proportional_size(const Tensor& images, const Tensor& size, Site site) {
  const std::vector<ImageNumber> sizes = image_dimensions(images, site);
  const auto number = [site](const Operand& value) {
    return cast(value, DType::float32, {}, site);
  };
  const auto share = [&](int axis) {
    const Tensor wanted = number(take_index(size, axis, site));
    const Tensor current = number(sizes[static_cast<std::size_t>(axis) + 1].operand(site));
    return Tensor(Operand(wanted, site) / current);
  };
  const Tensor of_height = share(0);
  const Tensor of_width = share(1);
  const Tensor factor = minimum(of_height, of_width, {}, site);
  const auto scaled = [&](std::size_t axis) {
    const Tensor current = number(sizes[axis].operand(site));
    const Tensor product = Operand(factor, site) * current;
    return cast(round(product, {}, site), DType::int32, {}, site);
  };
  const Tensor height = scaled(1);
  const Tensor width = scaled(2);
  return stack({height, width}, {.name = "size"}, site);
}

Tensor resized_by(ResizeMethod method, const Tensor& images, const Tensor& size, bool align_corners,
                  Site site) {
  switch (method) {
    case ResizeMethod::BILINEAR:
      return resize_bilinear(images, size, {.align_corners = align_corners}, site);
    case ResizeMethod::NEAREST_NEIGHBOR:
      return resize_nearest_neighbor(images, size, {.align_corners = align_corners}, site);
    case ResizeMethod::BICUBIC:
      return resize_bicubic(images, size, {.align_corners = align_corners}, site);
    default:
      return resize_area(images, size, {.align_corners = align_corners}, site);
  }
}

}  // namespace

Tensor resize_images(const Operand& images, const Operand& size, ResizeMethod method,
                     ResizeImagesOptions options, Site site) {
  Graph& graph = graph_of(images, size);
  const NameScope scope(graph, options.name.empty() ? "resize" : options.name, site);
  Tensor batch = convert_operand(graph, images, "images", std::nullopt);
  const Shape given = batch.shape();
  if (!given.has_rank()) fail_resize("'images' contains no shape.", site);
  if (given.rank() != 3 && given.rank() != 4) {
    fail_resize(
        fmt::format("'images' (shape {}) must have either 3 or 4 dimensions.", given.text()), site);
  }
  if (given.rank() == 3) batch = expand_dims(batch, 0, {}, site);
  Tensor wanted = size_tensor(graph, size, site);
  if (options.preserve_aspect_ratio) wanted = proportional_size(batch, wanted, site);
  // TensorFlow does not know a proportional size before the run, so it always adds the resize.
  const Shape known =
      options.preserve_aspect_ratio ? Shape::unknown() : constant_value_as_shape(wanted);
  const Dim height = known.has_rank() ? known[0] : Dim(std::nullopt);
  const Dim width = known.has_rank() ? known[1] : Dim(std::nullopt);
  const auto restored = [&](const Tensor& result) {
    return given.rank() == 3 ? squeeze(result, {.axis = {0}}, site) : result;
  };
  const bool same =
      height.known() && width.known() && batch.shape()[1] == height && batch.shape()[2] == width;
  if (same) return restored(batch);
  Tensor result = resized_by(method, batch, wanted, options.align_corners, site);
  result.set_shape(Shape(std::vector<Dim>{None, height, width, None}), site);
  return restored(result);
}

Tensor resize_bilinear(const Operand& images, const Operand& size, ResizeOptions options,
                       Site site) {
  return resized("ResizeBilinear", images, size, attrs_of(options), options.name, site);
}

Tensor resize_nearest_neighbor(const Operand& images, const Operand& size, ResizeOptions options,
                               Site site) {
  return resized("ResizeNearestNeighbor", images, size, attrs_of(options), options.name, site);
}

Tensor resize_bicubic(const Operand& images, const Operand& size, ResizeOptions options,
                      Site site) {
  return resized("ResizeBicubic", images, size, attrs_of(options), options.name, site);
}

Tensor resize_area(const Operand& images, const Operand& size, ResizeAreaOptions options,
                   Site site) {
  return resized("ResizeArea", images, size, ResizeAreaAttrs{options.align_corners}, options.name,
                 site);
}

}  // namespace towerflow::image
