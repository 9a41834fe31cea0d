#include "ops/image/psnr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/data_flow/assert.h"
#include "ops/image/convert_dtype.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace towerflow::image {
namespace {

void require_images(const Shape& shape, Site site) {
  if (!shape.has_rank() || shape.rank() >= 3) return;
  throw ValueError(fmt::format("Shape {} must have rank at least 3", shape.text()),
                   {.site = site, .op = "psnr"});
}

/// Checks that the sizes of the images are equal and those before them broadcast.
void check_image_pair(const Shape& a, const Shape& b, Site site) {
  require_images(a, site);
  require_images(b, site);
  if (!a.has_rank() || !b.has_rank()) return;
  for (std::size_t i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const Dim &one = a[a.rank() - i], &other = b[b.rank() - i];
    if (!one.known() || !other.known() || one == other) continue;
    if (i > 3 && (one.size() == 1 || other.size() == 1)) continue;
    throw ValueError(fmt::format("Two images are not compatible: {} and {}", a.text(), b.text()),
                     {.site = site, .op = "psnr"});
  }
}

/// Checks the same in the run, as far as TensorFlow does. (_verify_compatible_image_shapes)
std::vector<Operation> run_time_checks(const Tensor& a, const Tensor& b, Site site) {
  check_image_pair(a.shape(), b.shape(), site);
  const std::vector<Tensor> sizes = shape_n({a, b}, {}, site);
  const OperandList shown{sizes[0], sizes[1]};
  const Tensor enough = greater_equal(size(sizes[0], {}, site), 3, {}, site);
  const Operation has_rank = Assert(enough, shown, {.summarize = 10}, site);
  const Tensor last = take_range(sizes[0], -3, std::nullopt, site);
  const Tensor other_last = take_range(sizes[1], -3, std::nullopt, site);
  const Tensor same = reduce_all(equal(last, other_last, {}, site), {}, site);
  return {has_rank, Assert(same, shown, {.summarize = 10}, site)};
}

}  // namespace

Tensor psnr(const Tensor& a, const Tensor& b, const ScalarOperand& max_val, PsnrOptions options,
            Site site) {
  const NameScope scope(a.graph(), options.name.empty() ? "PSNR" : options.name, site);
  const Tensor range =
      convert_image_dtype(cast(max_val, a.dtype(), {}, site), DType::float32, {}, site);
  const Tensor first = convert_image_dtype(a, DType::float32, {}, site);
  const Tensor second = convert_image_dtype(b, DType::float32, {}, site);
  const Tensor squares = squared_difference(first, second, {}, site);
  const Tensor error = reduce_mean(squares, Axis{-3, -2, -1}, {}, site);
  const Tensor peak = Operand(20, site) * log(range, {}, site);
  const Tensor decade = log(10.0, {}, site);
  const Tensor signal = Operand(peak, site) / decade;
  const Tensor log_error = log(error, {}, site);
  const Tensor noise = Operand(10 / std::log(10.0), site) * log_error;
  const Tensor ratio = subtract(signal, noise, {.name = "psnr"}, site);
  const ControlDependencies after =
      control_dependencies(run_time_checks(first, second, site), site);
  return identity(ratio, {}, site);
}

}  // namespace towerflow::image
