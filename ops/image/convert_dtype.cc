#include "ops/image/convert_dtype.h"

#include <fmt/format.h>

#include <limits>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/saturate_cast.h"

namespace towerflow::image {
namespace {

void require_scalable(DType dtype, const char* what, Site site) {
  if (is_floating(dtype) || is_integer(dtype)) return;
  throw TypeError(
      fmt::format("{} must be either floating point or integer, not {}", what, dtype_name(dtype)),
      {.site = site, .op = "convert_image_dtype"});
}

/// Returns the highest number of an integer dtype.
std::uint64_t highest_integer(DType dtype) {
  std::uint64_t highest = 0;
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>)
      highest = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  });
  return highest;
}

/// Returns (larger + 1) / (smaller + 1) for the highest numbers of two integer dtypes, powers of
/// two less one.
std::int64_t integer_scale(std::uint64_t larger, std::uint64_t smaller) {
  return static_cast<std::int64_t>(larger / (smaller + 1) + 1);
}

}  // namespace

Tensor convert_image_dtype(const Operand& image, DType dtype, ConvertImageDtypeOptions options,
                           Site site) {
  Graph& graph = graph_of(image);
  const Tensor x = convert_operand(graph, image, "image", std::nullopt);
  require_scalable(dtype, "dtype", site);
  require_scalable(x.dtype(), "image dtype", site);
  if (dtype == x.dtype()) return identity(x, {.name = options.name}, site);

  const NameScope scope(graph, options.name.empty() ? "convert_image" : options.name, site);
  const auto finish = [&](const Tensor& scaled) {
    if (options.saturate) return saturate_cast(scaled, dtype, {.name = scope.name()}, site);
    return cast(scaled, dtype, {.name = scope.name()}, site);
  };
  if (is_integer(x.dtype()) && is_integer(dtype)) {
    const std::uint64_t from = highest_integer(x.dtype()), to = highest_integer(dtype);
    if (from > to) return finish(floordiv(x, integer_scale(from, to), {}, site));
    const Tensor widened =
        options.saturate ? saturate_cast(x, dtype, {}, site) : cast(x, dtype, {}, site);
    return multiply(widened, integer_scale(to, from), {.name = scope.name()}, site);
  }
  if (is_floating(x.dtype()) && is_floating(dtype))
    return cast(x, dtype, {.name = scope.name()}, site);
  if (is_integer(x.dtype())) {
    const Tensor number = cast(x, dtype, {}, site);
    const double scale = 1.0 / static_cast<double>(highest_integer(x.dtype()));
    return multiply(number, scale, {.name = scope.name()}, site);
  }
  // The half keeps the highest number from being rounded down by the cast.
  return finish(multiply(x, static_cast<double>(highest_integer(dtype)) + 0.5, {}, site));
}

}  // namespace towerflow::image
