#include "ops/variables/scaling_initializers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/graph/error.h"
#include "ops/random/random_ops.h"

namespace towerflow {
namespace {

/// Standard deviation of a standard normal distribution truncated at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

std::pair<double, double> fans(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {shape.size(0), shape.size(0)};
  double field = 1;
  for (std::size_t i = 0; i + 2 < shape.rank(); ++i) field *= static_cast<double>(shape.size(i));
  return {static_cast<double>(shape.size(shape.rank() - 2)) * field,
          static_cast<double>(shape.size(shape.rank() - 1)) * field};
}

double fan_for_mode(const std::string& mode, const Shape& shape) {
  const auto [fan_in, fan_out] = fans(shape);
  if (mode == "fan_in") return std::max(1.0, fan_in);
  if (mode == "fan_out") return std::max(1.0, fan_out);
  return std::max(1.0, (fan_in + fan_out) / 2.0);
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// Makes an initializer that gives `draw` the sizes, the dtype and the shape of the whole variable.
template <class Draw>
Initializer drawing_initializer(Draw draw) {
  return PartInitializerFunction(
      [draw](const Shape& shape, DType dtype, const PartitionInfo* partition, Site site) {
        const Shape& whole = partition != nullptr ? partition->full_shape : shape;
        return draw(Operand(shape_to_array(shape), site), dtype, whole, site);
      });
}

Initializer variance_scaling(double scale, const char* mode, const char* distribution,
                             const ScalingInitializerOptions& options) {
  return variance_scaling_initializer(
      {.scale = scale, .mode = mode, .distribution = distribution, .seed = options.seed});
}

}  // namespace

Initializer variance_scaling_initializer(VarianceScalingOptions options, Site site) {
  const auto fail = [site](const std::string& text) {
    throw ValueError(text, {.site = site, .op = "variance_scaling_initializer"});
  };
  if (!(options.scale > 0)) {
    fail(fmt::format("Argument `scale` must be a positive float. Received: {}", options.scale));
  }
  if (options.mode != "fan_in" && options.mode != "fan_out" && options.mode != "fan_avg") {
    fail(
        fmt::format("Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: "
                    "{}",
                    options.mode));
  }
  options.distribution = lower_case(options.distribution);
  if (options.distribution == "normal") options.distribution = "truncated_normal";
  const std::string& kind = options.distribution;
  if (kind != "uniform" && kind != "truncated_normal" && kind != "untruncated_normal") {
    fail(
        fmt::format("Argument `distribution` should be one of ('normal', 'uniform', "
                    "'truncated_normal', 'untruncated_normal'). Received: {}",
                    kind));
  }
  return drawing_initializer([options](const Operand& sizes, DType dtype, const Shape& whole,
                                       Site made) {
    const double variance = options.scale / fan_for_mode(options.mode, whole);
    if (options.distribution == "uniform") {
      const double limit = std::sqrt(3.0 * variance);
      return random_uniform(
          sizes, {.minval = -limit, .maxval = limit, .dtype = dtype, .seed = options.seed}, made);
    }
    const double deviation = std::sqrt(variance);
    if (options.distribution == "untruncated_normal") {
      return random_normal(sizes, {.stddev = deviation, .dtype = dtype, .seed = options.seed},
                           made);
    }
    return truncated_normal(
        sizes, {.stddev = deviation / kTruncatedDeviation, .dtype = dtype, .seed = options.seed},
        made);
  });
}

Initializer glorot_uniform_initializer(ScalingInitializerOptions options) {
  return variance_scaling(1.0, "fan_avg", "uniform", options);
}

Initializer glorot_normal_initializer(ScalingInitializerOptions options) {
  return variance_scaling(1.0, "fan_avg", "truncated_normal", options);
}

Initializer uniform_unit_scaling_initializer(UniformUnitScalingOptions options) {
  return drawing_initializer(
      [options](const Operand& sizes, DType dtype, const Shape& whole, Site site) {
        double inputs = 1;
        for (std::size_t i = 0; i + 1 < whole.rank(); ++i)
          inputs *= static_cast<double>(whole.size(i));
        const double limit = std::sqrt(3.0 / std::max(1.0, inputs)) * options.factor;
        return random_uniform(
            sizes, {.minval = -limit, .maxval = limit, .dtype = dtype, .seed = options.seed}, site);
      });
}

namespace initializers {

Initializer he_normal(ScalingInitializerOptions options) {
  return variance_scaling(2.0, "fan_in", "truncated_normal", options);
}

Initializer he_uniform(ScalingInitializerOptions options) {
  return variance_scaling(2.0, "fan_in", "uniform", options);
}

Initializer lecun_normal(ScalingInitializerOptions options) {
  return variance_scaling(1.0, "fan_in", "truncated_normal", options);
}

Initializer lecun_uniform(ScalingInitializerOptions options) {
  return variance_scaling(1.0, "fan_in", "uniform", options);
}

}  // namespace initializers
}  // namespace towerflow
