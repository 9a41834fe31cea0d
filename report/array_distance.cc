#include "report/array_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/graph/error.h"
#include "core/graph/short_float.h"

namespace towerflow::report {
namespace {

/// Returns an integer that grows by one from each value to the next.
template <class Bits>
std::int64_t rank_of(Bits bits) {
  constexpr Bits kSign = Bits(1) << (8 * sizeof(Bits) - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<Bits>(kSign - 1));
  return (bits & kSign) != 0 ? -magnitude - 1 : magnitude;
}

std::uint64_t apart(std::int64_t a, std::int64_t b) {
  return a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
               : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
}

template <class Bits>
void count_bits(const Array& a, const Array& b, std::int64_t elements, ArrayDistance& found) {
  const auto* x = static_cast<const Bits*>(a.raw());
  const auto* y = static_cast<const Bits*>(b.raw());
  for (std::int64_t i = 0; i < elements; ++i) {
    if (x[i] == y[i]) continue;
    ++found.different;
    const std::uint64_t ulps = apart(rank_of(x[i]), rank_of(y[i]));
    if (ulps <= found.ulps) continue;
    found.ulps = ulps;
    found.at = i;
  }
}

template <class T>
void measure(const Array& a, const Array& b, ArrayDistance& found) {
  const auto x = a.flat<T>(), y = b.flat<T>();
  double largest = 0, apart_most = 0, squares = 0, squares_apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto one = static_cast<double>(x[i]), other = static_cast<double>(y[i]);
    largest = std::max({largest, std::abs(one), std::abs(other)});
    apart_most = std::max(apart_most, std::abs(one - other));
    squares += one * one;
    squares_apart += (one - other) * (one - other);
    if constexpr (std::is_integral_v<T>) {
      if (x[i] == y[i]) continue;
      ++found.different;
      const std::uint64_t steps =
          x[i] > y[i] ? static_cast<std::uint64_t>(x[i]) - static_cast<std::uint64_t>(y[i])
                      : static_cast<std::uint64_t>(y[i]) - static_cast<std::uint64_t>(x[i]);
      if (steps <= found.ulps) continue;
      found.ulps = steps;
      found.at = static_cast<std::int64_t>(i);
    }
  }
  if (found.equal() && squares_apart == 0) return;
  found.relative = apart_most / largest;
  found.root_square = std::sqrt(squares_apart / squares);
}

/// Complex numbers as an array of their parts.
Array parts_of(const Array& array) {
  const bool wide = array.dtype() == DType::complex128;
  return Array(wide ? float64 : float32, Shape{2 * array.elements()}, array.owner());
}

ArrayDistance distance_of_strings(const Array& a, const Array& b) {
  ArrayDistance found;
  const auto x = a.flat<std::string>(), y = b.flat<std::string>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    if (found.different++ == 0) found.at = static_cast<std::int64_t>(i);
  }
  return found;
}

}  // namespace

ArrayDistance array_distance(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    throw ValueError(fmt::format("no distance between {} {} and {} {}", dtype_name(a.dtype()),
                                 a.shape().text(), dtype_name(b.dtype()), b.shape().text()));
  }
  if (a.dtype() == string) return distance_of_strings(a, b);
  if (is_complex(a.dtype())) {
    ArrayDistance found = array_distance(parts_of(a), parts_of(b));
    found.at /= 2;
    return found;
  }
  ArrayDistance found;
  if (is_floating(a.dtype())) {
    if (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0) return found;
    if (dtype_size(a.dtype()) == 2) {
      count_bits<std::uint16_t>(a, b, a.elements(), found);
      measure<float>(widened(a), widened(b), found);
    } else if (a.dtype() == float32) {
      count_bits<std::uint32_t>(a, b, a.elements(), found);
      measure<float>(a, b, found);
    } else {
      count_bits<std::uint64_t>(a, b, a.elements(), found);
      measure<double>(a, b, found);
    }
    return found;
  }
  dispatch_dtype(a.dtype(), [&]<class T>() { measure<T>(a, b, found); });
  return found;
}

namespace {

/// Copies a part of an array to or from its place along an axis of the whole.
template <class Whole, class Part, class Copy>
void place_part(Whole& whole, Part& part, std::size_t axis, std::size_t& begin, Copy copy) {
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(whole.shape().size(i));
  if (part.bytes() == 0) return;
  const std::size_t row = whole.bytes() / outer, bytes = part.bytes() / outer;
  for (std::size_t i = 0; i < outer; ++i) copy(i * row + begin, i * bytes, bytes);
  begin += bytes;
}

}  // namespace

Array joined(const std::vector<Array>& parts, std::size_t axis) {
  if (parts.size() == 1) return parts[0];
  std::vector<std::int64_t> sizes = parts.at(0).shape().sizes();
  std::int64_t along = 0;
  for (const Array& part : parts) {
    std::vector<std::int64_t> own = part.shape().sizes();
    const bool fits = axis < own.size() && own.size() == sizes.size() &&
                      part.dtype() == parts[0].dtype() && part.dtype() != string;
    if (fits) along += std::exchange(own[axis], sizes[axis]);
    if (fits && own == sizes) continue;
    throw ValueError(fmt::format("cannot join {} and {} along axis {}", parts[0].shape().text(),
                                 part.shape().text(), axis));
  }
  sizes[axis] = along;
  Array whole(parts[0].dtype(), Shape(sizes));
  std::size_t begin = 0;
  for (const Array& part : parts) {
    place_part(whole, part, axis, begin, [&](std::size_t to, std::size_t from, std::size_t bytes) {
      std::memcpy(static_cast<char*>(whole.raw()) + to, static_cast<const char*>(part.raw()) + from,
                  bytes);
    });
  }
  return whole;
}

std::vector<Array> cut(const Array& whole, std::size_t axis,
                       const std::vector<std::int64_t>& sizes) {
  if (axis >= whole.shape().rank() || whole.dtype() == string ||
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != whole.shape().size(axis)) {
    throw ValueError(fmt::format("cannot cut {} along axis {} into parts of {}",
                                 whole.shape().text(), axis, fmt::join(sizes, ", ")));
  }
  std::vector<Array> parts;
  std::size_t begin = 0;
  for (const std::int64_t size : sizes) {
    std::vector<std::int64_t> own = whole.shape().sizes();
    own[axis] = size;
    Array& part = parts.emplace_back(whole.dtype(), Shape(own));
    place_part(whole, part, axis, begin, [&](std::size_t from, std::size_t to, std::size_t bytes) {
      std::memcpy(static_cast<char*>(part.raw()) + to, static_cast<const char*>(whole.raw()) + from,
                  bytes);
    });
  }
  return parts;
}

std::string element_text(const Array& array, std::int64_t index) {
  if (array.dtype() == string) {
    return '\'' + array.data<std::string>()[index] + '\'';
  }
  if (is_complex(array.dtype())) {
    const Array parts = parts_of(array);
    return fmt::format("{} + {}i", element_text(parts, 2 * index),
                       element_text(parts, 2 * index + 1));
  }
  if (is_floating(array.dtype()) && dtype_size(array.dtype()) == 2) {
    return element_text(widened(array), index);
  }
  std::string text;
  dispatch_dtype(array.dtype(),
                 [&]<class T>() { text = fmt::format("{}", array.data<T>()[index]); });
  return text;
}

std::string index_text(const Shape& shape, std::int64_t index) {
  std::vector<std::int64_t> at = shape.sizes();
  for (std::size_t axis = at.size(); axis-- > 0;) {
    const std::int64_t size = std::exchange(at[axis], index % at[axis]);
    index /= size;
  }
  return at.empty() ? "" : fmt::format("[{}]", fmt::join(at, ", "));
}

}  // namespace towerflow::report
