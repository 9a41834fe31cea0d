#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::image::types {

/// A part of an image, for `slice`, and the same part as a box of relative coordinates.
struct DistortedBoundingBox {
  Tensor begin;   ///< [offset_height, offset_width, 0]
  Tensor size;    ///< [target_height, target_width, -1]
  Tensor bboxes;  ///< [1, 1, 4]
};

}  // namespace towerflow::image::types

namespace towerflow::image {

using namespace types;

// A box is [y_min, x_min, y_max, x_max], where 1 is the height or the width of the image.

struct CropAndResizeOptions {
  std::string method = "bilinear";  ///< or "nearest"
  double extrapolation_value = 0;   ///< of pixels outside the image
  std::string name{};
};

/// Cuts boxes out of images and resizes them.
///
/// shapes   image [n, h, w, c], boxes [m, 4], box_ind [m], crop_size [2]
///          -> [m, crop_size[0], crop_size[1], c]
/// dtypes   image real numbers, boxes float32, box_ind and crop_size int32 -> float32
/// grads    image, if they are floating-point numbers, and boxes; a second one is a LookupError
/// errors   ValueError: ranks or sizes do not fit, an unknown method; TypeError: other dtypes; at
///          run time InvalidArgumentError: no pixels, boxes that are not finite; OutOfRangeError:
///          box_ind
/// source   tf.image.crop_and_resize
Tensor crop_and_resize(const Operand& image, const Operand& boxes, const Operand& box_ind,
                       const Operand& crop_size, CropAndResizeOptions options = {},
                       Site site = Site::current());

struct SampleDistortedBoundingBoxOptions {
  std::int64_t seed = 0;
  std::int64_t seed2 = 0;            ///< each run differs if both seeds are 0
  Operand min_object_covered = 0.1;  ///< the part of one of the boxes that must be in the result
  std::array<float, 2> aspect_ratio_range{0.75F, 1.33F};  ///< width / height
  std::array<float, 2> area_range{0.05F, 1.0F};           ///< parts of the image
  std::int64_t max_attempts = 100;  ///< after which the result is the whole image
  bool use_image_if_no_bounding_boxes = false;
  std::string name{};
};

/// Draws a part of an image that contains enough of one of its boxes.
///
/// shapes   image_size [3], bounding_boxes [n, m, 4] -> [3], [3], [1, 1, 4]
/// dtypes   image_size integers, bounding_boxes float32; begin and size as image_size
/// grads    none: begin and size are integers
/// errors   ValueError: ranks or sizes; TypeError: other dtypes; at run time InvalidArgumentError:
///          ranges, coordinates outside 0 .. 1, no boxes
/// source   tf.image.sample_distorted_bounding_box
DistortedBoundingBox sample_distorted_bounding_box(const Operand& image_size,
                                                   const Operand& bounding_boxes,
                                                   SampleDistortedBoundingBoxOptions options = {},
                                                   Site site = Site::current());

struct DrawBoundingBoxesOptions {
  std::string name{};
};

/// Returns images with the outlines of boxes, one pixel wide: yellow, blue, red, lime, purple,
/// olive, maroon, navy blue, aqua, fuchsia, and again; white in grey images. Sides outside the
/// image are not drawn.
///
/// shapes   images [n, H, W, C] with 1, 3 or 4 channels, boxes [n, m, 4] -> as images
/// dtypes   float32
/// grads    none, as in TensorFlow
/// errors   ValueError: images of a rank below 3; TypeError: other dtypes; at run time
///          InvalidArgumentError: other shapes
/// source   tf.image.draw_bounding_boxes
Tensor draw_bounding_boxes(const Operand& images, const Operand& boxes,
                           DrawBoundingBoxesOptions options = {}, Site site = Site::current());

struct NonMaxSuppressionOptions {
  ByName by_name = ByName();
  Operand score_threshold = -std::numeric_limits<double>::infinity();
  std::string name{};
};

/// Returns the indices of boxes in order of their scores, without those that overlap a better one
/// by more than `iou_threshold`: intersection over union.
///
/// shapes   boxes [n, 4], scores [n], others [] -> [k], k <= max_output_size known at run time
/// dtypes   boxes, scores and thresholds float32, max_output_size int32 -> int32
/// grads    none: an index is an integer
/// errors   ValueError: ranks or sizes; TypeError: other dtypes; at run time InvalidArgumentError:
///          iou_threshold outside 0 .. 1, a negative max_output_size
/// source   tf.image.non_max_suppression
Tensor non_max_suppression(const Operand& boxes, const Operand& scores,
                           const ScalarOperand& max_output_size,
                           const ScalarOperand& iou_threshold = 0.5,
                           NonMaxSuppressionOptions options = {}, Site site = Site::current());
inline Tensor non_max_suppression(const Operand& boxes, const Operand& scores,
                                  const ScalarOperand& max_output_size,
                                  NonMaxSuppressionOptions options, Site site = Site::current()) {
  return non_max_suppression(boxes, scores, max_output_size, ScalarOperand(0.5, site),
                             std::move(options), site);
}

}  // namespace towerflow::image
