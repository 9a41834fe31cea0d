#pragma once

#include "ops/variables/variable.h"

namespace towerflow {

/// Initial values for variables. Each makes the same nodes as TensorFlow 1.x's class of that name,
/// inside the variable's `Initializer` scope.

/// All zeros. (tf.zeros_initializer)
Initializer zeros_initializer();
/// All ones. (tf.ones_initializer)
Initializer ones_initializer();
/// One value everywhere, or a list of values in row-major order. (tf.constant_initializer)
///
/// Takes a number, a list, nested braces, a vector or an Array. The last value of a list that is
/// too short is repeated; a list longer than the variable is a ValueError.
Initializer constant_initializer(Operand value);

struct RandomUniformInitializerOptions {
  Nested minval = 0.0;
  std::optional<Nested> maxval{};  ///< default 1 for a floating dtype
  std::optional<std::int64_t> seed{};
};
/// Uniform values from [minval, maxval). (tf.random_uniform_initializer)
Initializer random_uniform_initializer(RandomUniformInitializerOptions options = {});

struct NormalInitializerOptions {
  double mean = 0.0;
  double stddev = 1.0;
  std::optional<std::int64_t> seed{};
};
/// Normal values. (tf.random_normal_initializer)
Initializer random_normal_initializer(NormalInitializerOptions options = {});
/// Normal values; those more than two standard deviations from the mean are drawn again.
/// (tf.truncated_normal_initializer)
Initializer truncated_normal_initializer(NormalInitializerOptions options = {});

}  // namespace towerflow
