#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::image {

// An image is [height, width, channels] or a batch of them, [n, height, width, channels]. If its
// sizes are not known yet, what is said to be a ValueError is an InvalidArgumentError at run time.

/// Returns the part of an image whose upper left corner is at (offset_height, offset_width).
///
/// shapes   image [.., height, width, channels], others [] -> [.., target_height, target_width,
///          channels]
/// dtypes   image all, others int32      grads  image
/// errors   ValueError: not 3 or 4 dimensions, a negative offset, a target that is not positive or
///          not within the image
/// source   tf.image.crop_to_bounding_box
Tensor crop_to_bounding_box(const Operand& image, const ScalarOperand& offset_height,
                            const ScalarOperand& offset_width, const ScalarOperand& target_height,
                            const ScalarOperand& target_width, Site site = Site::current());

/// Surrounds an image by zeros, so that its upper left corner is at (offset_height, offset_width).
///
/// shapes   as crop_to_bounding_box
/// dtypes   image numbers, others int32      grads  image
/// errors   ValueError: not 3 or 4 dimensions, a negative offset, an image that is not within the
///          target
/// source   tf.image.pad_to_bounding_box
Tensor pad_to_bounding_box(const Operand& image, const ScalarOperand& offset_height,
                           const ScalarOperand& offset_width, const ScalarOperand& target_height,
                           const ScalarOperand& target_width, Site site = Site::current());

/// Crops an image, or surrounds it by zeros, evenly on both sides.
///
/// shapes   image [.., height, width, channels], others [] -> [.., target_height, target_width,
///          channels]
/// dtypes   image numbers, others int32      grads  image
/// errors   ValueError: not 3 or 4 dimensions, a target that is not positive
/// source   tf.image.resize_image_with_crop_or_pad
Tensor resize_image_with_crop_or_pad(const Operand& image, const ScalarOperand& target_height,
                                     const ScalarOperand& target_width,
                                     Site site = Site::current());

/// Returns the middle of an image: `central_fraction` of its height and width.
///
/// shapes   image [.., height, width, channels] -> the same with smaller height and width
/// dtypes   all      grads  image
/// errors   ValueError: not 3 or 4 dimensions, a fraction that is not within (0, 1]
/// source   tf.image.central_crop
Tensor central_crop(const Operand& image, double central_fraction, Site site = Site::current());

}  // namespace towerflow::image
