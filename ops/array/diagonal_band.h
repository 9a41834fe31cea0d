#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// On which side the diagonals above and below the main one stand in their rows.
enum class DiagonalAlign : std::uint8_t { right_left, left_right, left_left, right_right };

template <>
inline constexpr std::array<const char*, 4> kAttrNames<DiagonalAlign>{"RIGHT_LEFT", "LEFT_RIGHT",
                                                                      "LEFT_LEFT", "RIGHT_RIGHT"};

/// Diagonals `lower` .. `upper` of a matrix, stored as rows from the highest to the lowest.
struct DiagonalBand {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t rows = 0;  ///< of the matrix
  std::int64_t columns = 0;
  DiagonalAlign align = DiagonalAlign::right_left;

  std::int64_t count() const { return upper - lower + 1; }
  std::int64_t length(std::int64_t k) const {
    return std::min(rows + std::min<std::int64_t>(k, 0), columns - std::max<std::int64_t>(k, 0));
  }
  /// Returns the length of the longest diagonal, which is that of a row.
  std::int64_t longest() const {
    return std::min(rows + std::min<std::int64_t>(upper, 0),
                    columns - std::max<std::int64_t>(lower, 0));
  }
  /// Returns where diagonal k begins in its row.
  std::int64_t begin(std::int64_t k) const {
    const bool upper_left = align == DiagonalAlign::left_left || align == DiagonalAlign::left_right;
    const bool lower_left = align == DiagonalAlign::left_left || align == DiagonalAlign::right_left;
    return (k >= 0 && upper_left) || (k <= 0 && lower_left) ? 0 : longest() - length(k);
  }
  /// Returns whether diagonal k exists; 0 does even in an empty matrix.
  bool contains(std::int64_t k) const { return k == 0 || (k > -rows && k < columns); }
};

}  // namespace towerflow
