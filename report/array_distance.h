#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/array.h"

namespace towerflow::types {

/// How far two arrays of one dtype and shape are apart.
struct ArrayDistance {
  std::int64_t different = 0;  ///< elements whose bits (for strings, characters) differ
  /// The largest number of steps from a value to the next of its dtype between two elements; -0
  /// and 0 are one step apart. For integers their difference, for complex numbers that of a part.
  std::uint64_t ulps = 0;
  std::int64_t at = 0;     ///< the flat index of an element with that distance
  double relative = 0;     ///< the largest |a - b|, divided by the largest |a| or |b|
  double root_square = 0;  ///< the norm of a - b, divided by that of a

  bool equal() const { return different == 0; }
};

}  // namespace towerflow::types

namespace towerflow::report {

/// Compares two arrays element by element. Throws ValueError if dtypes or shapes differ.
ArrayDistance array_distance(const Array& a, const Array& b);

/// Joins arrays along an axis, in their order. Throws ValueError if the other sizes or the dtypes
/// differ.
Array joined(const std::vector<Array>& parts, std::size_t axis);

/// Cuts an array along an axis into parts of these sizes, the opposite of `joined`. Throws
/// ValueError if the sizes do not add up to that of the axis.
std::vector<Array> cut(const Array& whole, std::size_t axis,
                       const std::vector<std::int64_t>& sizes);

/// Returns one element as text with all digits, "0.10000000149011612".
std::string element_text(const Array& array, std::int64_t index);

/// Returns the index of an element in each dimension, "[3, 0, 17]"; "" for a scalar.
std::string index_text(const Shape& shape, std::int64_t index);

}  // namespace towerflow::report
