#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace towerflow {

/// Converts a number to another type without undefined behavior. Integers wrap. A floating value
/// outside the range of int32 or int64, or NaN, becomes the lowest integer (as on x86-64); narrower
/// types take the low bits of the int32. Anything but 0 is true.
template <class From, class To>
constexpr To cast_value(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (!std::is_floating_point_v<From> || std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, std::uint64_t>) {
    constexpr From kTop = static_cast<From>(18446744073709551616.0);
    if (x >= From(0) && x < kTop) return static_cast<To>(x);
    return static_cast<To>(cast_value<From, std::int64_t>(x));
  } else if constexpr (std::is_same_v<To, std::int64_t>) {
    constexpr From kTop = static_cast<From>(9223372036854775808.0);
    return x >= -kTop && x < kTop ? static_cast<To>(x) : std::numeric_limits<To>::min();
  } else if constexpr (std::is_same_v<To, std::uint32_t>) {
    return static_cast<To>(cast_value<From, std::int64_t>(x));
  } else {
    const double wide = static_cast<double>(x);
    const bool inside = wide > -2147483649.0 && wide < 2147483648.0;
    const std::int32_t whole =
        inside ? static_cast<std::int32_t>(wide) : std::numeric_limits<std::int32_t>::min();
    return static_cast<To>(whole);
  }
}

}  // namespace towerflow
