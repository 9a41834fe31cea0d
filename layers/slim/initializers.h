#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/variables/initial_value.h"

namespace towerflow::slim {

struct VarianceScalingInitializerOptions {
  double factor = 2.0;
  std::string mode = "FAN_IN";  ///< determines n below; or "FAN_OUT", "FAN_AVG"
  bool uniform = false;
  std::optional<std::int64_t> seed{};
};

/// Values of mean 0 and variance factor / n: uniform, or normal with those beyond two standard
/// deviations drawn again. The normal ones differ from tf::variance_scaling_initializer, which
/// corrects the truncation exactly.
///
/// dtypes   floating
/// errors   TypeError: an unknown mode; when the variable is made: another dtype
/// source   slim.variance_scaling_initializer
Initializer variance_scaling_initializer(VarianceScalingInitializerOptions options = {},
                                         Site site = Site::current());

struct XavierInitializerOptions {
  bool uniform = true;
  std::optional<std::int64_t> seed{};
};

/// Values of variance 2 / (fan_in + fan_out), Glorot and Bengio 2010: the default of slim's layers.
/// (slim.xavier_initializer)
Initializer xavier_initializer(XavierInitializerOptions options = {});

}  // namespace towerflow::slim
