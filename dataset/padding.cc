#include "dataset/padding.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dataset/rows.h"

namespace towerflow::data {
namespace {

/// Fills `count` elements from element `at` on.
void fill_elements(const Array& value, Array& target, std::int64_t at, std::int64_t count) {
  if (value.dtype() == DType::string) {
    std::fill_n(target.data<std::string>() + at, count, *value.data<std::string>());
    return;
  }
  const std::size_t size = dtype_size(value.dtype());
  auto* to = static_cast<std::byte*>(target.raw()) + static_cast<std::size_t>(at) * size;
  for (std::int64_t i = 0; i < count; ++i, to += size) std::memcpy(to, value.raw(), size);
}

}  // namespace

void copy_padded(const Array& value, const Array& padding, const Shape& row, Array& batch,
                 std::int64_t index) {
  const std::int64_t size = row.elements();
  const std::int64_t begin = index * size;
  if (value.shape() == row) {
    copy_elements(value, 0, batch, begin, size);
    return;
  }
  fill_elements(padding, batch, begin, size);
  if (value.elements() == 0) return;
  // Line by line along the last axis; the other axes count up as on an odometer.
  const std::size_t axes = row.rank() - 1;
  const std::int64_t line = value.shape().size(axes);
  std::vector<std::int64_t> place(axes, 0);
  for (std::int64_t from = 0; from < value.elements(); from += line) {
    std::int64_t to = 0;
    for (std::size_t axis = 0; axis < axes; ++axis) to = to * row.size(axis) + place[axis];
    copy_elements(value, from, batch, begin + to * row.size(axes), line);
    for (std::size_t axis = axes; axis-- > 0;) {
      if (++place[axis] < value.shape().size(axis)) break;
      place[axis] = 0;
    }
  }
}

}  // namespace towerflow::data
