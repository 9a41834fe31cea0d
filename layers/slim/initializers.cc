#include "layers/slim/initializers.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/error.h"
#include "ops/random/random_ops.h"

namespace towerflow::slim {
namespace {

/// Returns the number of inputs or outputs of a unit, or the mean of both.
double scaling_fan(const std::string& mode, const Shape& shape) {
  if (shape.rank() == 0) return 1.0;
  const auto size = [&](int axis) { return static_cast<double>(shape.size(axis)); };
  double fan_in = size(shape.rank() > 1 ? -2 : -1);
  double fan_out = size(-1);
  for (int i = 0; i + 2 < static_cast<int>(shape.rank()); ++i) {
    fan_in *= size(i);
    fan_out *= size(i);
  }
  if (mode == "FAN_IN") return fan_in;
  return mode == "FAN_OUT" ? fan_out : (fan_in + fan_out) / 2.0;
}

}  // namespace

Initializer variance_scaling_initializer(VarianceScalingInitializerOptions options, Site site) {
  const ErrorDetail detail{.site = site, .op = "variance_scaling_initializer"};
  if (options.mode != "FAN_IN" && options.mode != "FAN_OUT" && options.mode != "FAN_AVG") {
    throw TypeError(fmt::format("Unknown mode {} [FAN_IN, FAN_OUT, FAN_AVG]", options.mode),
                    detail);
  }
  return InitializerFunction([options](const Shape& shape, DType dtype, Site made) {
    if (!is_floating(dtype)) {
      throw TypeError("Cannot create initializer for non-floating point type.", {.site = made});
    }
    const double n = scaling_fan(options.mode, shape);
    const Operand sizes(shape_to_array(shape), made);
    if (options.uniform) {
      const double limit = std::sqrt(3.0 * options.factor / n);
      return random_uniform(
          sizes, {.minval = -limit, .maxval = limit, .dtype = dtype, .seed = options.seed}, made);
    }
    const double deviation = std::sqrt(1.3 * options.factor / n);
    return truncated_normal(sizes, {.stddev = deviation, .dtype = dtype, .seed = options.seed},
                            made);
  });
}

Initializer xavier_initializer(XavierInitializerOptions options) {
  return variance_scaling_initializer(
      {.factor = 1.0, .mode = "FAN_AVG", .uniform = options.uniform, .seed = options.seed});
}

}  // namespace towerflow::slim
