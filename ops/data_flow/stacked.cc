#include "ops/data_flow/stacked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "core/graph/error.h"

namespace towerflow {
namespace {

void check_bytes(const Shape& shape, DType dtype) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  std::size_t bytes = dtype_size(dtype);
  for (const Dim dim : shape.dims()) {
    const auto size = static_cast<std::size_t>(dim.size());
    if (size > 0 && bytes > kMost / size) {
      throw errors::ResourceExhaustedError(
          fmt::format("elements padded to {} {} are more than memory can hold", dtype_name(dtype),
                      shape.text()),
          {.hint = "each unknown dimension takes the largest size found among the elements"});
    }
    bytes *= std::max<std::size_t>(size, 1);
  }
}

/// Copies dimensions `axis` and up of `value` to the beginning of the same dimensions of `to`,
/// whose sizes are `sizes`; `stride` is the number of elements per step along `axis` in `to`.
/// Advances `from`.
template <class T>
void copy_block(const Shape& value, const std::vector<std::int64_t>& sizes, std::size_t axis,
                std::size_t stride, const T*& from, T* to) {
  const auto count = static_cast<std::size_t>(value.size(axis));
  if (axis + 1 == value.rank()) {
    std::copy_n(from, count, to);
    from += count;
    return;
  }
  const std::size_t next = stride / static_cast<std::size_t>(sizes[axis + 1]);
  for (std::size_t i = 0; i < count; ++i) {
    copy_block(value, sizes, axis + 1, next, from, to + i * stride);
  }
}

/// `T` is std::string, or std::byte with the bytes of an element as an additional dimension `unit`.
template <class T>
void write_as(const std::vector<QueueElement>& elements, std::size_t index, const Shape& row,
              const Shape& unit, T* out) {
  const Shape units = row.concatenated(unit);
  const auto per_row = static_cast<std::size_t>(units.elements());
  const std::vector<std::int64_t> sizes = units.sizes();
  for (const QueueElement& element : elements) {
    const Array& value = (*element)[index];
    const auto* from = static_cast<const T*>(value.raw());
    if (value.shape() == row) {
      std::copy_n(from, per_row, out);
    } else {
      std::fill_n(out, per_row, T{});
      // If the value has elements, no dimension of `row` is 0.
      if (value.elements() > 0) {
        copy_block(value.shape().concatenated(unit), sizes, 0,
                   per_row / static_cast<std::size_t>(sizes[0]), from, out);
      }
    }
    out += per_row;
  }
}

}  // namespace

Shape stacked_shape(const std::vector<QueueElement>& elements, std::size_t index,
                    const Shape& declared, DType dtype) {
  std::vector<Dim> dims(1, Dim(elements.size()));
  for (std::size_t axis = 0; axis < declared.rank(); ++axis) {
    if (declared[axis].known()) {
      dims.push_back(declared[axis]);
      continue;
    }
    std::int64_t largest = 0;
    for (const QueueElement& element : elements) {
      largest = std::max(largest, (*element)[index].shape().size(axis));
    }
    dims.emplace_back(largest);
  }
  Shape shape(std::move(dims));
  check_bytes(shape, dtype);
  return shape;
}

void write_stacked(const std::vector<QueueElement>& elements, std::size_t index, const Shape& shape,
                   void* out) {
  if (elements.empty()) return;
  const Shape row(std::vector<Dim>(shape.dims().begin() + 1, shape.dims().end()));
  const DType dtype = (*elements[0])[index].dtype();
  if (dtype == DType::string) {
    write_as(elements, index, row, Shape{}, static_cast<std::string*>(out));
  } else {
    write_as(elements, index, row, Shape{dtype_size(dtype)}, static_cast<std::byte*>(out));
  }
}

}  // namespace towerflow
