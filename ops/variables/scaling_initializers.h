#pragma once

#include <optional>
#include <string>

#include "ops/variables/variable.h"

namespace towerflow {

/// Initial values whose spread depends on the shape of the weights. Each draws the same numbers as
/// TensorFlow 1.x's class of that name from the same seeds; a part of a partitioned variable is
/// scaled like the whole.
///
/// `fan_in` and `fan_out` are the inputs and outputs of one unit: the last two sizes of the shape,
/// each times all sizes before them (for a vector both are its length, for a scalar 1).
///
/// shapes   any     dtypes  float32, float64
/// errors   TypeError when the variable is made: a dtype that is not floating

struct VarianceScalingOptions {
  double scale = 1.0;                             ///< above 0
  std::string mode = "fan_in";                    ///< determines n below; or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  ///< or "normal", its old name,
                                                  ///< "untruncated_normal", "uniform"
  std::optional<std::int64_t> seed{};
};
/// Values of mean 0 and variance scale / n: normal (by default those beyond two standard deviations
/// are drawn again, and the variance is that after truncation) or uniform within sqrt(3 scale / n).
/// (tf.variance_scaling_initializer)
/// errors   ValueError: a scale that is not positive, an unknown mode or distribution
Initializer variance_scaling_initializer(VarianceScalingOptions options = {},
                                         Site site = Site::current());

struct ScalingInitializerOptions {
  std::optional<std::int64_t> seed{};
};
/// Uniform within sqrt(6 / (fan_in + fan_out)), Glorot and Bengio 2010; the default of
/// `get_variable`. (tf.glorot_uniform_initializer)
Initializer glorot_uniform_initializer(ScalingInitializerOptions options = {});
/// Truncated normal values of variance 2 / (fan_in + fan_out). (tf.glorot_normal_initializer)
Initializer glorot_normal_initializer(ScalingInitializerOptions options = {});

struct UniformUnitScalingOptions {
  double factor = 1.0;
  std::optional<std::int64_t> seed{};
};
/// Uniform within factor * sqrt(3 / n), where n is the product of all sizes but the last.
/// (tf.uniform_unit_scaling_initializer)
Initializer uniform_unit_scaling_initializer(UniformUnitScalingOptions options = {});

/// (tf.initializers)
namespace initializers {

/// Truncated normal values of variance 2 / fan_in, He et al. 2015. (tf.initializers.he_normal)
Initializer he_normal(ScalingInitializerOptions options = {});
/// Uniform within sqrt(6 / fan_in). (tf.initializers.he_uniform)
Initializer he_uniform(ScalingInitializerOptions options = {});
/// Truncated normal values of variance 1 / fan_in, LeCun 1998. (tf.initializers.lecun_normal)
Initializer lecun_normal(ScalingInitializerOptions options = {});
/// Uniform within sqrt(3 / fan_in). (tf.initializers.lecun_uniform)
Initializer lecun_uniform(ScalingInitializerOptions options = {});

}  // namespace initializers
}  // namespace towerflow
