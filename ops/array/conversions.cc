#include "ops/array/conversions.h"

#include <fmt/format.h>

#include <limits>

#include "core/graph/op_builder.h"
#include "ops/array/constant.h"
#include "ops/math/binary.h"

namespace towerflow {
namespace {

Tensor convert_to(const Operand& x, DType dtype, const char* default_name, CastOptions options,
                  Site site) {
  if (options.name.empty()) options.name = default_name;
  return cast(x, dtype, std::move(options), site);
}

/// Returns the lowest and the highest number of From that To can represent.
template <class From, class To>
std::pair<From, From> saturated_range() {
  using Limits = std::numeric_limits<From>;
  using Target = std::numeric_limits<To>;
  if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
    if constexpr (sizeof(From) <= sizeof(To)) return {Limits::lowest(), Limits::max()};
    return {static_cast<From>(Target::lowest()), static_cast<From>(Target::max())};
  } else if constexpr (std::is_floating_point_v<From>) {
    // The highest integer may round up to one that does not fit.
    From high = static_cast<From>(Target::max());
    const From beyond = std::ldexp(From(1), Target::digits);
    if (high >= beyond) high = std::nextafter(beyond, From(0));
    return {static_cast<From>(Target::lowest()), high};
  } else if constexpr (std::is_floating_point_v<To>) {
    return {Limits::lowest(), Limits::max()};
  } else {
    const From low = std::in_range<From>(Target::lowest()) ? static_cast<From>(Target::lowest())
                                                           : Limits::lowest();
    const From high =
        std::in_range<From>(Target::max()) ? static_cast<From>(Target::max()) : Limits::max();
    return {low, high};
  }
}

/// Returns the bounds as scalars of dtype `from`; empty Arrays for dtypes that are not numbers.
std::pair<Array, Array> saturation_bounds(DType from, DType to) {
  std::pair<Array, Array> bounds;
  dispatch_dtype(from, [&]<class From>() {
    dispatch_dtype(to, [&]<class To>() {
      if constexpr (!std::is_same_v<From, bool> && !std::is_same_v<To, bool>) {
        const auto [low, high] = saturated_range<From, To>();
        bounds = {Array::scalar<From>(low), Array::scalar<From>(high)};
      }
    });
  });
  return bounds;
}

}  // namespace

Tensor to_float(const Operand& x, CastOptions options, Site site) {
  return convert_to(x, DType::float32, "ToFloat", std::move(options), site);
}
Tensor to_double(const Operand& x, CastOptions options, Site site) {
  return convert_to(x, DType::float64, "ToDouble", std::move(options), site);
}
Tensor to_int32(const Operand& x, CastOptions options, Site site) {
  return convert_to(x, DType::int32, "ToInt32", std::move(options), site);
}
Tensor to_int64(const Operand& x, CastOptions options, Site site) {
  return convert_to(x, DType::int64, "ToInt64", std::move(options), site);
}

Tensor saturate_cast(const Operand& value, DType dtype, CastOptions options, Site site) {
  Graph& graph = graph_of(value);
  const std::string name = options.name.empty() ? "saturate_cast" : options.name;
  const NameScope scope(graph, name, site);
  const Tensor x = convert_operand(graph, value, "value", std::nullopt);
  const auto [low, high] = saturation_bounds(x.dtype(), dtype);
  if (low.empty()) {
    throw TypeError(fmt::format("saturate_cast converts numbers, not {} to {}",
                                dtype_name(x.dtype()), dtype_name(dtype)),
                    {.site = site, .op = "saturate_cast"});
  }
  const NameScope clamp(graph, "clamp", site);
  const Tensor below = minimum(x, Operand(high, site), {}, site);
  const Tensor clamped = maximum(below, Operand(low, site), {.name = clamp.name()}, site);
  return cast(clamped, dtype, {.name = scope.name()}, site);
}

}  // namespace towerflow
