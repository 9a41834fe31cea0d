#include "ops/image/geometry.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/pad.h"
#include "ops/array/shape_of.h"
#include "ops/array/slice.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/control/tuple.h"
#include "ops/image/checks.h"
#include "ops/image/image_number.h"
#include "ops/math/binary.h"

namespace towerflow::image {
namespace {

/// An image as a batch, [n, height, width, channels].
struct ImageBatch {
  ImageBatch(Graph& graph, const Operand& image, const char* op, Site site) {
    images = convert_operand(graph, image, "image", std::nullopt);
    const Shape known = images.shape();
    if (known.has_rank() && known.rank() == 4) {
      was_batch = true;
    } else if (!known.has_rank() || known.rank() == 3) {
      images = expand_dims(images, 0, {}, site);
      if (!known.has_rank()) images.set_shape(Shape::of_rank(4), site);
    } else {
      throw ValueError(
          fmt::format("'image' (shape {}) must have either 3 or 4 dimensions.", known.text()),
          {.site = site, .op = op});
    }
  }
  /// Returns a result of this shape as an image again, unless it was a batch.
  Tensor restored(Tensor result, const ImageNumber& height, const ImageNumber& width,
                  const std::vector<ImageNumber>& sizes, Site site) const {
    result.set_shape(
        Shape(std::vector<Dim>{sizes[0].dim(), height.dim(), width.dim(), sizes[3].dim()}), site);
    return unbatched(result, site);
  }
  Tensor unbatched(const Tensor& result, Site site) const {
    return was_batch ? result : squeeze(result, {.axis = {0}}, site);
  }

  Tensor images;
  bool was_batch = false;
};

Tensor cropped_to(const Operand& image, const ImageNumber& top, const ImageNumber& left,
                  const ImageNumber& height, const ImageNumber& width, Site site) {
  constexpr const char* kOp = "crop_to_bounding_box";
  Graph& graph = graph_of(image);
  const NameScope scope(graph, kOp, site);
  const ImageBatch batch(graph, image, kOp, site);
  std::vector<Operation> checks = check_at_least_3d(batch.images, kOp, site);
  const std::vector<ImageNumber> sizes = image_dimensions(batch.images, site);
  using enum Comparison;
  require_number(left, greater_equal, 0, "offset_width must be >= 0.", checks, site);
  require_number(top, greater_equal, 0, "offset_height must be >= 0.", checks, site);
  require_number(width, greater, 0, "target_width must be > 0.", checks, site);
  require_number(height, greater, 0, "target_height must be > 0.", checks, site);
  require_number(sizes[2], greater_equal, added(width, left, site),
                 "width must be >= target + offset.", checks, site);
  require_number(sizes[1], greater_equal, added(height, top, site),
                 "height must be >= target + offset.", checks, site);
  const Tensor images = with_dependencies(checks, batch.images, {}, site);
  const Tensor begin = stacked({0, top, left, 0}, site);
  const ImageNumber count(take_index(shape(images, {}, site), 0, site));
  const ImageNumber channels(take_index(shape(images, {}, site), 3, site));
  const Tensor extent = stacked({count, height, width, channels}, site);
  return batch.restored(slice(images, begin, extent, {}, site), height, width, sizes, site);
}

Tensor padded_to(const Operand& image, const ImageNumber& top, const ImageNumber& left,
                 const ImageNumber& height, const ImageNumber& width, Site site) {
  constexpr const char* kOp = "pad_to_bounding_box";
  Graph& graph = graph_of(image);
  const NameScope scope(graph, kOp, site);
  const ImageBatch batch(graph, image, kOp, site);
  const std::vector<ImageNumber> sizes = image_dimensions(batch.images, site);
  const ImageNumber right = subtracted(subtracted(width, left, site), sizes[2], site);
  const ImageNumber bottom = subtracted(subtracted(height, top, site), sizes[1], site);
  std::vector<Operation> checks = check_at_least_3d(batch.images, kOp, site);
  using enum Comparison;
  require_number(top, greater_equal, 0, "offset_height must be >= 0", checks, site);
  require_number(left, greater_equal, 0, "offset_width must be >= 0", checks, site);
  require_number(right, greater_equal, 0, "width must be <= target - offset", checks, site);
  require_number(bottom, greater_equal, 0, "height must be <= target - offset", checks, site);
  const Tensor images = with_dependencies(checks, batch.images, {}, site);
  const Tensor widths = stacked({0, 0, top, bottom, left, right, 0, 0}, site);
  const Tensor paddings = reshape(widths, {4, 2}, {}, site);
  return batch.restored(pad(images, paddings, {}, site), height, width, sizes, site);
}

/// Returns the first row or column of the middle of `size` of them.
ImageNumber central_start(const ImageNumber& size, double fraction, Site site) {
  if (!size.is_tensor()) {
    const auto whole = static_cast<double>(size.value());
    return static_cast<std::int64_t>((whole - whole * fraction) / 2);
  }
  const Tensor whole = cast(size.tensor(), DType::float64, {}, site);
  const Tensor kept = cast(fraction, DType::float64, {}, site);
  const Operand sizes(whole, site);
  const Tensor part = sizes * kept;
  const Tensor rest = sizes - part;
  return ImageNumber(cast(Operand(rest, site) / 2, DType::int32, {}, site));
}

}  // namespace

Tensor crop_to_bounding_box(const Operand& image, const ScalarOperand& offset_height,
                            const ScalarOperand& offset_width, const ScalarOperand& target_height,
                            const ScalarOperand& target_width, Site site) {
  return cropped_to(image, ImageNumber(offset_height, "offset_height", site),
                    ImageNumber(offset_width, "offset_width", site),
                    ImageNumber(target_height, "target_height", site),
                    ImageNumber(target_width, "target_width", site), site);
}

Tensor pad_to_bounding_box(const Operand& image, const ScalarOperand& offset_height,
                           const ScalarOperand& offset_width, const ScalarOperand& target_height,
                           const ScalarOperand& target_width, Site site) {
  return padded_to(image, ImageNumber(offset_height, "offset_height", site),
                   ImageNumber(offset_width, "offset_width", site),
                   ImageNumber(target_height, "target_height", site),
                   ImageNumber(target_width, "target_width", site), site);
}

Tensor resize_image_with_crop_or_pad(const Operand& image, const ScalarOperand& target_height,
                                     const ScalarOperand& target_width, Site site) {
  constexpr const char* kOp = "resize_image_with_crop_or_pad";
  ImageNumber height(target_height, "target_height", site);
  ImageNumber width(target_width, "target_width", site);
  Graph& graph = graph_of(image);
  const NameScope scope(graph, kOp, site);
  const ImageBatch batch(graph, image, kOp, site);
  std::vector<Operation> checks = check_at_least_3d(batch.images, kOp, site);
  using enum Comparison;
  require_number(width, greater, 0, "target_width must be > 0.", checks, site);
  require_number(height, greater, 0, "target_height must be > 0.", checks, site);
  const Tensor images = with_dependencies(checks, batch.images, {}, site);
  for (ImageNumber* target : {&height, &width}) {
    if (target->is_tensor())
      target->tensor() = with_dependencies(checks, target->tensor(), {}, site);
  }
  const std::vector<ImageNumber> sizes = image_dimensions(images, site);
  const ImageNumber more_width = subtracted(width, sizes[2], site);
  const ImageNumber crop_left = larger(halved(negated(more_width, site), site), 0, site);
  const ImageNumber pad_left = larger(halved(more_width, site), 0, site);
  const ImageNumber more_height = subtracted(height, sizes[1], site);
  const ImageNumber crop_top = larger(halved(negated(more_height, site), site), 0, site);
  const ImageNumber pad_top = larger(halved(more_height, site), 0, site);
  const ImageNumber kept_height = smaller(height, sizes[1], site);
  const ImageNumber kept_width = smaller(width, sizes[2], site);
  const Tensor cropped = cropped_to(images, crop_top, crop_left, kept_height, kept_width, site);
  const Tensor padded = padded_to(cropped, pad_top, pad_left, height, width, site);
  const std::vector<ImageNumber> found = image_dimensions(padded, site);
  std::vector<Operation> final_checks;
  require_number(found[1], equal, height, "resized height is not correct.", final_checks, site);
  require_number(found[2], equal, width, "resized width is not correct.", final_checks, site);
  return batch.unbatched(with_dependencies(final_checks, padded, {}, site), site);
}

Tensor central_crop(const Operand& image, double central_fraction, Site site) {
  constexpr const char* kOp = "central_crop";
  Graph& graph = graph_of(image);
  const NameScope scope(graph, kOp, site);
  const Tensor given = convert_operand(graph, image, "image", std::nullopt);
  if (!(central_fraction > 0 && central_fraction <= 1)) {
    throw ValueError(
        fmt::format("central_fraction must be within (0, 1], got {}", central_fraction),
        {.site = site, .op = kOp});
  }
  if (central_fraction == 1) return given;
  assert_at_least_3d(given, kOp, site);
  const Shape known = given.shape();
  if (!known.has_rank() || (known.rank() != 3 && known.rank() != 4)) {
    throw ValueError(
        fmt::format("'image' (shape {}) must have either 3 or 4 dimensions.", known.text()),
        {.site = site, .op = kOp});
  }
  const std::size_t first = known.rank() - 3;
  const auto size_of = [&](std::size_t axis) -> ImageNumber {
    if (known[axis].known()) return known[axis].size();
    return ImageNumber(take_index(shape(given, {}, site), static_cast<int>(axis), site));
  };
  const ImageNumber height = size_of(first);
  const ImageNumber width = size_of(first + 1);
  const ImageNumber top = central_start(height, central_fraction, site);
  const ImageNumber left = central_start(width, central_fraction, site);
  const auto without_both = [site](const ImageNumber& size, const ImageNumber& start) {
    if (!start.is_tensor()) return subtracted(size, 2 * start.value(), site);
    return subtracted(size, ImageNumber(Operand(start.tensor(), site) * 2), site);
  };
  const ImageNumber kept_height = without_both(height, top);
  const ImageNumber kept_width = without_both(width, left);
  std::vector<ImageNumber> begin{top, left, 0}, extent{kept_height, kept_width, -1};
  std::vector<Dim> sizes{kept_height.dim(), kept_width.dim(), known[known.rank() - 1]};
  if (first == 1) {
    begin.insert(begin.begin(), 0);
    extent.insert(extent.begin(), -1);
    sizes.insert(sizes.begin(), known[0]);
  }
  const Tensor corner = stacked(begin, site);
  const Tensor wanted = stacked(extent, site);
  Tensor middle = slice(given, corner, wanted, {}, site);
  middle.set_shape(Shape(std::move(sizes)), site);
  return middle;
}

}  // namespace towerflow::image
