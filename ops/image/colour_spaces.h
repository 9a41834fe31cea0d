#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::image {

struct ColourSpaceOptions {
  std::string name{};
};

/// Returns hue, saturation and value of RGB colours from 0 to 1. Hue 0 is red, 1/3 green, 2/3 blue.
///
/// shapes   images [.., 3] -> as images      dtypes  float32, float64
/// grads    images, away from colours of which two numbers are equal; as in TensorFlow
/// errors   ValueError: the last size is not 3; TypeError: another dtype
/// source   tf.image.rgb_to_hsv
Tensor rgb_to_hsv(const Operand& images, ColourSpaceOptions options = {},
                  Site site = Site::current());

/// Returns the RGB colours of hue, saturation and value from 0 to 1.
///
/// shapes   images [.., 3] -> as images      dtypes  float32, float64
/// grads    none, as in TensorFlow
/// errors   as rgb_to_hsv
/// source   tf.image.hsv_to_rgb
Tensor hsv_to_rgb(const Operand& images, ColourSpaceOptions options = {},
                  Site site = Site::current());

/// Repeats the one channel of images three times.
///
/// shapes   images [.., 1] -> [.., 3]      dtypes  numbers
/// grads    images
/// errors   ValueError: less than two dimensions, a last size other than 1; what is not known yet
///          is an InvalidArgumentError at run time
/// source   tf.image.grayscale_to_rgb
Tensor grayscale_to_rgb(const Operand& images, ColourSpaceOptions options = {},
                        Site site = Site::current());

/// Returns the brightness of RGB colours: 0.2989 r + 0.587 g + 0.114 b.
///
/// shapes   images [.., 3] -> [.., 1]      dtypes  numbers
/// grads    images, if they are floating-point numbers
/// errors   ValueError: the last size is not 3; TypeError: strings, bools
/// source   tf.image.rgb_to_grayscale
Tensor rgb_to_grayscale(const Operand& images, ColourSpaceOptions options = {},
                        Site site = Site::current());

}  // namespace towerflow::image
