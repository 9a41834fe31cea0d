#pragma once

#include "ops/variables/variable.h"

namespace towerflow {

/// Initial values for variables; each makes the nodes TensorFlow 1.x's class of that name makes,
/// inside the variable's `Initializer` scope.

/// All zeros. (tf.zeros_initializer)
Initializer zeros_initializer();
/// All ones. (tf.ones_initializer)
Initializer ones_initializer();
/// One value everywhere, or a list of values in row-major order. (tf.constant_initializer)
///
/// A number, a list, nested braces, a vector or an Array. The last value of a
/// list that is too short is repeated; one that is longer than the variable is a ValueError.
Initializer constant_initializer(Operand value);

struct RandomUniformInitializerOptions {
  Nested minval = 0.0;
  std::optional<Nested> maxval{};  ///< 1, for a floating dtype
  std::optional<std::int64_t> seed{};
};
/// Values from minval up to maxval. (tf.random_uniform_initializer)
Initializer random_uniform_initializer(RandomUniformInitializerOptions options = {});

struct NormalInitializerOptions {
  double mean = 0.0;
  double stddev = 1.0;
  std::optional<std::int64_t> seed{};
};
/// (tf.random_normal_initializer)
Initializer random_normal_initializer(NormalInitializerOptions options = {});
/// Normal values; those further than two standard deviations from the mean are drawn again.
/// (tf.truncated_normal_initializer)
Initializer truncated_normal_initializer(NormalInitializerOptions options = {});

}  // namespace towerflow
