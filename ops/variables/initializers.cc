#include "ops/variables/initializers.h"

#include <algorithm>
#include <cmath>

#include "core/graph/constant.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/random/random_ops.h"

namespace towerflow {
namespace {

/// Inputs and outputs that one unit of a weight tensor sees: the last two dimensions times the
/// receptive field.
std::pair<double, double> fans(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {shape.size(0), shape.size(0)};
  double field = 1;
  for (std::size_t i = 0; i + 2 < shape.rank(); ++i) field *= static_cast<double>(shape.size(i));
  return {static_cast<double>(shape.size(shape.rank() - 2)) * field,
          static_cast<double>(shape.size(shape.rank() - 1)) * field};
}

Operand sizes(const Shape& shape, Site site) {
  std::vector<Nested> items;
  for (const Dim dim : shape.dims()) items.emplace_back(dim.size());
  return Operand(Nested(std::move(items)), site);
}

}  // namespace

Initializer zeros_initializer() {
  return InitializerFunction([](const Shape& shape, DType dtype, Site site) {
    return zeros(shape, {.dtype = dtype}, site);
  });
}

Initializer ones_initializer() {
  return InitializerFunction([](const Shape& shape, DType dtype, Site site) {
    return ones(shape, {.dtype = dtype}, site);
  });
}

Initializer constant_initializer(Nested value) {
  return InitializerFunction(
      [value = std::move(value)](const Shape& shape, DType dtype, Site site) {
        return constant(value, {.dtype = dtype, .shape = shape}, site);
      });
}

Initializer random_uniform_initializer(RandomUniformInitializerOptions options) {
  return InitializerFunction([options](const Shape& shape, DType dtype, Site site) {
    RandomUniformOptions draw{.minval = options.minval, .dtype = dtype, .seed = options.seed};
    if (options.maxval) draw.maxval = Operand(*options.maxval);
    return random_uniform(sizes(shape, site), draw, site);
  });
}

Initializer random_normal_initializer(NormalInitializerOptions options) {
  return InitializerFunction([options](const Shape& shape, DType dtype, Site site) {
    return random_normal(
        sizes(shape, site),
        {.mean = options.mean, .stddev = options.stddev, .dtype = dtype, .seed = options.seed},
        site);
  });
}

Initializer truncated_normal_initializer(NormalInitializerOptions options) {
  return InitializerFunction([options](const Shape& shape, DType dtype, Site site) {
    return truncated_normal(
        sizes(shape, site),
        {.mean = options.mean, .stddev = options.stddev, .dtype = dtype, .seed = options.seed},
        site);
  });
}

Initializer glorot_uniform_initializer(GlorotOptions options) {
  return PartInitializerFunction([options](const Shape& shape, DType dtype,
                                           const PartitionInfo* partition, Site site) {
    const auto [fan_in, fan_out] = fans(partition != nullptr ? partition->full_shape : shape);
    const double limit = std::sqrt(3.0 / std::max(1.0, (fan_in + fan_out) / 2.0));
    return random_uniform(sizes(shape, site),
                          {.minval = -limit, .maxval = limit, .dtype = dtype, .seed = options.seed},
                          site);
  });
}

}  // namespace towerflow
