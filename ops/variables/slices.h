#pragma once

#include <fmt/format.h>

#include "core/device/tensor_desc.h"
#include "core/graph/error.h"

namespace towerflow {

/// Maps the slices of a sparse update to rows of the variable.
struct SliceRows {
  std::int64_t rows = 0;   ///< rows of the variable
  std::int64_t width = 1;  ///< elements of a row
  std::int64_t slices = 0;
  bool wide_indices = false;  ///< int64 rather than int32

  /// Throws InvalidArgumentError for an index out of range. Must be called before anything is
  /// written, so that an update is applied completely or not at all.
  void check(const void* indices) const {
    for (std::int64_t i = 0; i < slices; ++i) {
      const std::int64_t row = at(indices, i);
      if (row < 0 || row >= rows) {
        throw errors::InvalidArgumentError(
            fmt::format("indices[{}] = {} is not in [0, {})", i, row, rows));
      }
    }
  }

  /// Calls `visit(slice, row)` in order. The indices must have been checked.
  template <class Visit>
  void for_each(const void* indices, Visit&& visit) const {
    for (std::int64_t i = 0; i < slices; ++i) visit(i, at(indices, i));
  }

 private:
  std::int64_t at(const void* indices, std::int64_t i) const {
    return wide_indices ? static_cast<const std::int64_t*>(indices)[i]
                        : static_cast<const std::int32_t*>(indices)[i];
  }
};

inline SliceRows slice_rows(const Shape& variable, const TensorDesc& indices) {
  SliceRows rows;
  rows.rows = variable.rank() == 0 ? 1 : variable.size(0);
  for (std::size_t i = 1; i < variable.rank(); ++i) rows.width *= variable.size(i);
  rows.slices = indices.shape.elements();
  rows.wide_indices = indices.dtype == DType::int64;
  return rows;
}

}  // namespace towerflow
