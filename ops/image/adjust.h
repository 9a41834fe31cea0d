#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::image {

// Images of other dtypes than float32 are converted to it and back by `convert_image_dtype`.

/// Adds `delta` to all numbers of an image.
///
/// shapes   image [...], delta [] -> as image      dtypes  numbers
/// grads    image, delta
/// errors   TypeError: strings, bools
/// source   tf.image.adjust_brightness
Tensor adjust_brightness(const Operand& image, const ScalarOperand& delta,
                         Site site = Site::current());

/// Moves the numbers of each channel away from their mean: y = mean + (x - mean) * contrast_factor.
///
/// shapes   images [.., height, width, channels], contrast_factor [] -> as images
/// dtypes   numbers
/// grads    none: a gradient that reaches it is a LookupError, as in TensorFlow
/// errors   ValueError: less than three dimensions; TypeError: strings, bools
/// source   tf.image.adjust_contrast
Tensor adjust_contrast(const Operand& images, const ScalarOperand& contrast_factor,
                       Site site = Site::current());

/// Gamma correction: y = gain * x^gamma.
///
/// shapes   image [...], gamma [], gain [] -> as image      dtypes  numbers
/// grads    image, gamma, gain
/// errors   ValueError: gamma is negative, an InvalidArgumentError at run time if it is a tensor;
///          TypeError: strings, bools
/// source   tf.image.adjust_gamma
Tensor adjust_gamma(const Operand& image, const ScalarOperand& gamma = 1,
                    const ScalarOperand& gain = 1, Site site = Site::current());

struct AdjustColourOptions {
  std::string name{};
};

/// Adds `delta` to the hue of RGB colours; 1 is a whole turn.
///
/// shapes   image [.., 3] of at least three dimensions, delta [] -> as image      dtypes  numbers
/// grads    none: a gradient that reaches it is a LookupError, as in TensorFlow
/// errors   ValueError: less than three dimensions; TypeError: strings, bools; at run time
///          InvalidArgumentError: not three channels
/// source   tf.image.adjust_hue
Tensor adjust_hue(const Operand& image, const ScalarOperand& delta,
                  AdjustColourOptions options = {}, Site site = Site::current());

/// Multiplies the saturation of RGB colours by `saturation_factor` and limits it to 1.
///
/// shapes, dtypes, grads, errors   as adjust_hue
/// source   tf.image.adjust_saturation
Tensor adjust_saturation(const Operand& image, const ScalarOperand& saturation_factor,
                         AdjustColourOptions options = {}, Site site = Site::current());

struct RandomAdjustOptions {
  std::optional<std::int64_t> seed{};
};

/// `adjust_brightness` by a number that each run draws from -max_delta to max_delta.
///
/// errors   ValueError: max_delta is negative; as adjust_brightness
/// source   tf.image.random_brightness
Tensor random_brightness(const Operand& image, double max_delta, RandomAdjustOptions options = {},
                         Site site = Site::current());

/// `adjust_contrast` by a factor that each run draws from `lower` to `upper`.
///
/// errors   ValueError: lower is negative or not less than upper; as adjust_contrast
/// source   tf.image.random_contrast
Tensor random_contrast(const Operand& image, double lower, double upper,
                       RandomAdjustOptions options = {}, Site site = Site::current());

/// `adjust_hue` by a number that each run draws from -max_delta to max_delta.
///
/// errors   ValueError: max_delta is negative or above 0.5; as adjust_hue
/// source   tf.image.random_hue
Tensor random_hue(const Operand& image, double max_delta, RandomAdjustOptions options = {},
                  Site site = Site::current());

/// `adjust_saturation` by a factor that each run draws from `lower` to `upper`.
///
/// errors   ValueError: lower is negative or not less than upper; as adjust_saturation
/// source   tf.image.random_saturation
Tensor random_saturation(const Operand& image, double lower, double upper,
                         RandomAdjustOptions options = {}, Site site = Site::current());

/// Subtracts the mean of each image and divides by its standard deviation, or by 1 / sqrt(numbers)
/// if that is larger.
///
/// shapes   image [.., height, width, channels] -> as image      dtypes  numbers -> float32
/// grads    image
/// errors   ValueError: less than three dimensions, a size of 0; what is not known yet is an
///          InvalidArgumentError at run time
/// source   tf.image.per_image_standardization
Tensor per_image_standardization(const Operand& image, Site site = Site::current());

}  // namespace towerflow::image
