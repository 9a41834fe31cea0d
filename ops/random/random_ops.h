#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

/// Tensors of random numbers. Each run of a session draws the next numbers of the op's own stream;
/// a new session restarts the stream. The numbers are TensorFlow's for the same seeds (normals
/// within 2 ulp); `random::get_seed` documents how graph and op seed combine. If neither is set,
/// numbers differ from session to session.

/// Sets the seed of the default graph for random ops added from now on. (tf.set_random_seed)
void set_random_seed(std::optional<std::int64_t> seed);

struct RandomUniformOptions {
  Operand minval = 0;               ///< lowest value that may be drawn
  std::optional<Operand> maxval{};  ///< exclusive upper bound; 1 if absent, for floats only
  DType dtype = DType::float32;
  std::optional<std::int64_t> seed{};
  std::string name{};
};

/// Draws numbers uniformly from [minval, maxval).
///
/// shapes   shape [rank] (int32 or int64); minval, maxval broadcast to it, scalars for integers
/// dtypes   float32, float64, int32, int64
/// grads    minval, maxval: through the scaling of floats; shape: none
/// errors   ValueError: a dtype that cannot be drawn, an integer dtype without maxval, a shape with
///          a negative size; at run time InvalidArgumentError: minval >= maxval (integers), a size
///          of -1
/// source   tf.random_uniform. Integers are drawn by remainder, with TensorFlow's slight bias.
Tensor random_uniform(const Operand& shape, RandomUniformOptions options = {},
                      Site site = Site::current());

struct RandomNormalOptions {
  Operand mean = 0.0;
  Operand stddev = 1.0;
  DType dtype = DType::float32;
  std::optional<std::int64_t> seed{};
  std::string name{};
};

/// Draws numbers from a normal distribution.
///
/// shapes   shape [rank] (int32 or int64); mean, stddev broadcast to it
/// dtypes   float32, float64
/// grads    mean, stddev; shape: none
/// errors   TypeError: an integer dtype; ValueError and InvalidArgumentError: as random_uniform
/// source   tf.random_normal
Tensor random_normal(const Operand& shape, RandomNormalOptions options = {},
                     Site site = Site::current());

/// Draws numbers from a normal distribution, redrawn until they are within two standard deviations
/// of the mean.
///
/// shapes, dtypes, grads, errors   as random_normal
/// source   tf.truncated_normal
Tensor truncated_normal(const Operand& shape, RandomNormalOptions options = {},
                        Site site = Site::current());

struct RandomShuffleOptions {
  std::optional<std::int64_t> seed{};
  std::string name{};
};

/// Returns the rows in a random order that changes with every run. Seeds and streams are as above.
///
/// shapes   value [rows, ...] -> [rows, ...]; a scalar stays as it is     dtypes  all
/// grads    none, as in TensorFlow
/// errors   at run time InvalidArgumentError: 2^32 rows or more
/// source   tf.random_shuffle
Tensor random_shuffle(const Operand& value, RandomShuffleOptions options = {},
                      Site site = Site::current());

struct MultinomialOptions {
  std::optional<std::int64_t> seed{};
  std::string name{};
  DType output_dtype = DType::int64;  ///< int32 or int64
};

/// Draws classes for each row of unnormalized log probabilities. Seeds and streams are as above; of
/// a batch, one row after another is drawn.
///
/// shapes   logits [n, classes], num_samples [] (int32) -> [n, num_samples]
/// dtypes   float32, float64 -> int64 or int32
/// grads    none: classes are integers
/// errors   ValueError: logits that are not a matrix, a negative num_samples; at run time
///          InvalidArgumentError: no classes
/// source   tf.multinomial
Tensor multinomial(const Operand& logits, const ScalarOperand& num_samples,
                   MultinomialOptions options = {}, Site site = Site::current());

struct RandomCropOptions {
  std::optional<std::int64_t> seed{};
  std::string name{};
};

/// Cuts a part of the given size out of `value`, at a random place.
///
/// shapes   value [d0, ..], size [rank] -> size     dtypes  value all; size int32
/// grads    value: dy at that place
/// errors   at run time InvalidArgumentError: a size larger than that of value
/// source   tf.random_crop
Tensor random_crop(const Operand& value, const Operand& size, RandomCropOptions options = {},
                   Site site = Site::current());

}  // namespace towerflow
