#include "ops/variables/initializers.h"

#include "core/graph/constant.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/random/random_ops.h"

namespace towerflow {
namespace {

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

Initializer constant_initializer(Operand value) {
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

}  // namespace towerflow
