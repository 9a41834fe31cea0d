#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/device/tensor_desc.h"
#include "core/graph/error.h"
#include "core/graph/op_def.h"
#include "ops/kernel_dims.h"

namespace towerflow {

/// Throws unless `indices` may index into a tensor of shape `params`.
inline void check_index_rows(const InferenceContext& context, const Shape& indices,
                             const Shape& params) {
  if (!indices.has_rank()) return;
  if (indices.rank() == 0) context.fail("Shape must be at least rank 1 but is rank 0: indices");
  const Dim length = indices[indices.rank() - 1];
  if (!length.known() || !params.has_rank()) return;
  if (static_cast<std::size_t>(length.size()) > params.rank()) {
    context.fail(
        fmt::format("indices.shape[-1] must be <= params.rank, but saw indices shape: {} "
                    "and params shape: {}",
                    indices.text(), params.text()));
  }
}

/// Returns the shape of the updates that fit `indices` into a tensor of shape `params`: the leading
/// dimensions of the indices and those of a slice; unknown if that cannot be told, as when the
/// indices have more numbers than there are dimensions.
inline Shape indexed_shape(const Shape& indices, const Shape& params) {
  if (!params.has_rank() || !indices.has_rank() || !indices[indices.rank() - 1].known()) {
    return Shape::unknown();
  }
  std::vector<Dim> dims(indices.dims().begin(), indices.dims().end() - 1);
  const auto named = static_cast<std::ptrdiff_t>(indices[indices.rank() - 1].size());
  if (named > static_cast<std::ptrdiff_t>(params.rank())) return Shape::unknown();
  dims.insert(dims.end(), params.dims().begin() + named, params.dims().end());
  return Shape(std::move(dims));
}

/// Throws unless `updates` fit `indices` into a tensor of shape `params`. Updates that are one
/// number and indices of too many or an unknown count of numbers are checked when the graph runs.
inline void check_updates(const InferenceContext& context, const Shape& indices,
                          const Shape& updates, const Shape& params) {
  if (indices.has_rank() && indices.rank() == 0) {
    context.fail("Shape must be at least rank 1 but is rank 0: indices");
  }
  const auto some = [](const Shape& shape) { return shape.fully_known() && shape.elements() > 0; };
  const bool is_empty =
      params.has_rank() && std::count(params.dims().begin(), params.dims().end(), Dim(0)) > 0;
  if (is_empty && (some(indices) || some(updates))) {
    context.fail(fmt::format("indices of shape {} and updates of shape {} for an empty tensor {}",
                             indices.text(), updates.text(), params.text()));
  }
  if (!indices.has_rank() || !updates.has_rank() || updates.rank() == 0) return;
  const std::size_t outer = indices.rank() - 1;
  const Dim length = indices[outer];
  if (!length.known()) return;
  bool fits = updates.rank() >= outer;
  for (std::size_t i = 0; i < outer && fits; ++i) {
    fits = Shape{indices[i]}.compatible(Shape{updates[i]});
  }
  if (fits && params.has_rank()) {
    const auto part = [](const Shape& shape, std::size_t begin) {
      begin = std::min(begin, shape.rank());
      return Shape(std::vector<Dim>(shape.dims().begin() + static_cast<std::ptrdiff_t>(begin),
                                    shape.dims().end()));
    };
    fits = part(params, static_cast<std::size_t>(length.size())).compatible(part(updates, outer));
  }
  if (!fits) {
    context.fail(fmt::format("updates of shape {} do not fit indices of shape {} in {}",
                             updates.text(), indices.text(), params.text()));
  }
}

/// Rows of numbers, each of which is the index of a slice of a tensor.
class SliceIndices {
 public:
  SliceIndices(const TensorDesc& indices, const Shape& shape)
      : dtype_(indices.dtype),
        length_(indices.shape.size(indices.shape.rank() - 1)),
        shape_(shape) {
    if (length_ > static_cast<std::int64_t>(shape.rank())) {
      throw errors::InvalidArgumentError(fmt::format(
          "indices of shape {} do not index into shape {}", indices.shape.text(), shape.text()));
    }
    for (std::size_t i = 0; i + 1 < indices.shape.rank(); ++i) rows_ *= indices.shape.size(i);
    for (auto i = static_cast<std::size_t>(length_); i < shape.rank(); ++i) slice_ *= shape.size(i);
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t slice() const { return slice_; }
  /// Throws InvalidArgumentError if an index is out of range.
  void check(const void* indices) const {
    for (std::int64_t row = 0; row < rows_; ++row) offset(indices, row);
  }
  /// Returns the offset of the slice that `row` selects. Throws InvalidArgumentError if out of
  /// range.
  std::int64_t offset(const void* indices, std::int64_t row) const {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < length_; ++i) {
      const std::int64_t index = integer_at(dtype_, indices, row * length_ + i);
      const std::int64_t size = shape_.size(static_cast<std::size_t>(i));
      if (index < 0 || index >= size) throw_bad_index(indices, row);
      at = at * size + index;
    }
    return at * slice_;
  }

 private:
  [[noreturn]] void throw_bad_index(const void* indices, std::int64_t row) const {
    std::vector<std::int64_t> place;
    for (std::int64_t i = 0; i < length_; ++i) {
      place.push_back(integer_at(dtype_, indices, row * length_ + i));
    }
    throw errors::InvalidArgumentError(
        fmt::format("indices[{}] = [{}] does not index into shape {}", row, fmt::join(place, ", "),
                    shape_.text()));
  }

  DType dtype_;
  std::int64_t length_, rows_ = 1, slice_ = 1;
  Shape shape_;
};

}  // namespace towerflow
