#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::image {

// An image is [height, width, channels] or a batch of them, [n, height, width, channels]. If its
// sizes are not known yet, what is said to be a ValueError is an InvalidArgumentError at run time.
// If its rank is not known, the run takes one of two branches.

/// Reverses each row.
///
/// shapes   image -> as image      dtypes  all      grads  image
/// errors   ValueError: not 3 or 4 dimensions
/// source   tf.image.flip_left_right
Tensor flip_left_right(const Operand& image, Site site = Site::current());

/// Reverses the order of the rows.
///
/// shapes, dtypes, grads, errors   as flip_left_right
/// source   tf.image.flip_up_down
Tensor flip_up_down(const Operand& image, Site site = Site::current());

struct RandomFlipOptions {
  std::optional<std::int64_t> seed{};
};

/// Reverses each row of an image, or none: of a batch, each image is reversed or not.
///
/// shapes   image -> as image
/// dtypes   an image all, a batch numbers      grads  image
/// errors   as flip_left_right
/// source   tf.image.random_flip_left_right
Tensor random_flip_left_right(const Operand& image, RandomFlipOptions options = {},
                              Site site = Site::current());

/// Reverses the order of the rows or not, as random_flip_left_right.
///
/// shapes, dtypes, grads, errors   as random_flip_left_right
/// source   tf.image.random_flip_up_down
Tensor random_flip_up_down(const Operand& image, RandomFlipOptions options = {},
                           Site site = Site::current());

struct TransposeImageOptions {
  std::string name{};
};

/// Exchanges height and width.
///
/// shapes   image [.., height, width, channels] -> [.., width, height, channels]      dtypes  all
/// grads    image
/// errors   as flip_left_right
/// source   tf.image.transpose, tf.image.transpose_image
Tensor transpose_image(const Operand& image, TransposeImageOptions options = {},
                       Site site = Site::current());

struct Rot90Options {
  ByName by_name = ByName();
  std::string name{};
};

/// Turns an image counterclockwise by 90 degrees, k times; clockwise if k is negative.
///
/// shapes   image [.., height, width, channels], k [] -> as image, height and width exchanged if k
///          is odd; both are unknown in the graph
/// dtypes   image all, k int32      grads  image
/// errors   ValueError: not 3 or 4 dimensions, k is not a scalar
/// source   tf.image.rot90
Tensor rot90(const Operand& image, const ScalarOperand& k = 1, Rot90Options options = {},
             Site site = Site::current());
inline Tensor rot90(const Operand& image, Rot90Options options, Site site = Site::current()) {
  return rot90(image, ScalarOperand(1, site), std::move(options), site);
}

}  // namespace towerflow::image
