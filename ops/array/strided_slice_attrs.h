#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/graph/attr_fields.h"
#include "core/graph/error.h"

namespace towerflow {

/// Attributes of StridedSlice and StridedSliceGrad.
struct StridedSliceAttrs {
  int begin_mask = 0;
  int end_mask = 0;
  int ellipsis_mask = 0;
  int new_axis_mask = 0;
  int shrink_axis_mask = 0;
  static constexpr auto fields =
      std::tuple{attr::field("begin_mask", &StridedSliceAttrs::begin_mask),
                 attr::field("end_mask", &StridedSliceAttrs::end_mask),
                 attr::field("ellipsis_mask", &StridedSliceAttrs::ellipsis_mask),
                 attr::field("new_axis_mask", &StridedSliceAttrs::new_axis_mask),
                 attr::field("shrink_axis_mask", &StridedSliceAttrs::shrink_axis_mask)};
};

/// The elements taken along one dimension; `begin` is non-negative.
struct ResolvedSlice {
  std::int64_t begin = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
};

inline bool mask_has(int mask, std::size_t index) {
  return index < 31 && (mask & (1 << index)) != 0;
}

/// Returns what is wrong with a stride, or nullptr.
inline const char* stride_error(const StridedSliceAttrs& attrs, std::size_t index,
                                std::int64_t stride) {
  if (stride == 0) return "strides must not be zero";
  const bool shrinks = mask_has(attrs.shrink_axis_mask, index);
  return shrinks && stride < 0 ? "only stride 1 allowed on non-range indexing." : nullptr;
}

/// Resolves begin, end and stride number `index` for a dimension of `size` as Python does, and
/// stores the slice in `picked`. Returns an error message, or nullptr.
inline const char* resolve_slice(const StridedSliceAttrs& attrs, std::size_t index,
                                 std::int64_t begin, std::int64_t end, std::int64_t stride,
                                 std::int64_t size, ResolvedSlice& picked) {
  if (const char* wrong = stride_error(attrs, index, stride)) return wrong;
  if (mask_has(attrs.shrink_axis_mask, index)) {
    const std::int64_t at = begin < 0 ? begin + size : begin;
    if (at < 0 || at >= size) return "slice index is out of bounds";
    picked = {at, 1, 1};
    return nullptr;
  }
  const bool up = stride > 0;
  const auto place = [&](std::int64_t value) {
    if (value < 0) value += size;
    return std::clamp<std::int64_t>(value, up ? 0 : -1, up ? size : size - 1);
  };
  const std::int64_t start = up ? 0 : size - 1;
  const std::int64_t stop = up ? size : -1;
  const std::int64_t first = mask_has(attrs.begin_mask, index) ? start : place(begin);
  const std::int64_t last = mask_has(attrs.end_mask, index) ? stop : place(end);
  const std::int64_t span = up ? last - first : first - last;
  const auto step = up ? static_cast<std::uint64_t>(stride)
                       : std::uint64_t{0} - static_cast<std::uint64_t>(stride);
  const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(span, 0));
  picked = {first, stride, static_cast<std::int64_t>(whole / step + (whole % step != 0))};
  return nullptr;
}

/// Which entry of begin, end and strides applies to which dimension.
struct SliceLayout {
  static constexpr int kWhole = -1;    ///< a dimension without an entry
  static constexpr int kNewAxis = -2;  ///< a dimension of size 1 that the result gets
  /// For each dimension of the result, in order, and for each dimension that is removed.
  struct Part {
    int axis = kNewAxis;  ///< the dimension of the input
    int entry = kWhole;
    bool shrinks = false;
  };
  std::vector<Part> parts;
};

/// Lays out `entries` entries over the dimensions of an input. An ellipsis, or the end of the
/// entries if there is none, stands for all dimensions without an entry. Throws ValueError.
inline SliceLayout slice_layout(const StridedSliceAttrs& attrs, std::size_t entries,
                                std::size_t rank) {
  SliceLayout layout;
  std::size_t ellipsis = entries;
  std::size_t taken = 0;  // dimensions with an entry
  for (std::size_t i = 0; i < entries; ++i) {
    if (mask_has(attrs.ellipsis_mask, i)) {
      if (ellipsis != entries) throw ValueError("Multiple ellipses in slice spec not allowed");
      ellipsis = i;
    } else if (!mask_has(attrs.new_axis_mask, i)) {
      ++taken;
    }
  }
  if (taken > rank) {
    throw ValueError(
        fmt::format("Index out of range using input dim {}; input has only {} dims", rank, rank));
  }
  int axis = 0;
  for (std::size_t i = 0; i <= entries; ++i) {
    if (i == ellipsis) {
      for (std::size_t k = taken; k < rank; ++k) layout.parts.push_back({axis++});
    } else if (i < entries && mask_has(attrs.new_axis_mask, i)) {
      layout.parts.push_back({});
    } else if (i < entries) {
      layout.parts.push_back({axis++, static_cast<int>(i), mask_has(attrs.shrink_axis_mask, i)});
    }
  }
  return layout;
}

}  // namespace towerflow
