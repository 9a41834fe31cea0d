#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/graph/shape.h"

namespace towerflow {

/// An operand that broadcasts to a larger shape, read as if it had that shape: its sizes and
/// strides, with dimensions merged where possible.
class BroadcastOperand {
 public:
  /// `operand` must broadcast to `out`, which must not be empty.
  BroadcastOperand(const Shape& operand, const Shape& out);

  /// Returns the number of elements after which the content repeats.
  std::int64_t period() const { return period_; }

  /// Sets to[i] to element `begin + i` of the broadcast, for i < n.
  template <class T>
  void copy(const T* from, T* to, std::int64_t begin, std::int64_t n) const {
    const std::int64_t width = sizes_.back();
    std::int64_t row = begin / width, within = begin % width;
    while (n > 0) {
      const std::int64_t run = std::min(width - within, n);
      const T* at = from + offset(row);
      if (strides_.back() == 0)
        std::fill_n(to, run, *at);
      else
        std::copy_n(at + within, run, to);
      to += run;
      n -= run;
      within = 0;
      ++row;
    }
  }

 private:
  void add(std::int64_t size, std::int64_t stride);
  /// Returns the offset at which a row begins.
  std::int64_t offset(std::int64_t row) const {
    std::int64_t at = 0;
    for (std::size_t i = sizes_.size() - 1; i-- > 0;) {
      at += row % sizes_[i] * strides_[i];
      row /= sizes_[i];
    }
    return at;
  }

  std::vector<std::int64_t> sizes_, strides_;  // the last dimension is a row, of stride 0 or 1
  std::int64_t period_ = 1;
};

}  // namespace towerflow
