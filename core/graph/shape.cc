#include "core/graph/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>

#include "core/graph/error.h"

namespace towerflow {
namespace {

ValueError too_large(const Shape& shape) {
  return ValueError(
      fmt::format("Shape {} is too large (more than 2**63 - 1 entries)", shape.text()));
}

}  // namespace

void Dim::throw_unknown() {
  throw TypeError(
      "an unknown dimension has no size",
      {.hint = "check known() first; tf::shape(x) gives the sizes when the graph runs"});
}

Shape::Shape(std::span<const std::int64_t> sizes) {
  dims_.reserve(sizes.size());
  for (std::int64_t size : sizes) dims_.push_back(size < 0 ? Dim(None) : Dim(size));
}

Shape Shape::unknown() {
  Shape shape;
  shape.has_rank_ = false;
  return shape;
}

Shape Shape::of_rank(std::size_t rank) { return Shape(std::vector<Dim>(rank, Dim(None))); }

std::vector<std::int64_t> Shape::sizes() const {
  std::vector<std::int64_t> sizes;
  sizes.reserve(dims_.size());
  for (Dim dim : dims_) sizes.push_back(dim.size());
  return sizes;
}

Dim Shape::dim_from_end(std::int64_t axis) const {
  if (!has_rank_) return None;
  if (const auto index = normalized_axis(axis, rank())) return dims_[*index];
  throw ValueError(fmt::format("axis {} is out of range for the shape {}", axis, text()));
}

bool Shape::fully_known() const {
  if (!has_rank_) return false;
  for (Dim dim : dims_) {
    if (!dim.known()) return false;
  }
  return true;
}

std::int64_t Shape::elements() const { return has_rank_ ? product(dims_).value_or(-1) : -1; }

std::size_t Shape::bytes(std::size_t bytes_per_element) const {
  std::int64_t all = 0;
  if (__builtin_mul_overflow(elements(), bytes_per_element, &all)) throw too_large(*this);
  return static_cast<std::size_t>(all);
}

bool Shape::compatible(const Shape& other) const { return merged(other).has_value(); }

std::optional<Shape> Shape::merged(const Shape& other) const {
  if (!has_rank_) return other;
  if (!other.has_rank_) return *this;
  if (rank() != other.rank()) return std::nullopt;
  std::vector<Dim> dims;
  dims.reserve(rank());
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    Dim a = dims_[axis], b = other.dims_[axis];
    if (a.known() && b.known() && a != b) return std::nullopt;
    dims.push_back(a.known() ? a : b);
  }
  return Shape(std::move(dims));
}

Shape Shape::concatenated(const Shape& other) const {
  if (!has_rank_ || !other.has_rank_) return unknown();
  std::vector<Dim> dims = dims_;
  dims.insert(dims.end(), other.dims_.begin(), other.dims_.end());
  return Shape(std::move(dims));
}

std::string Shape::text() const {
  if (!has_rank_) return "<unknown>";
  std::string text = "(";
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += dims_[axis].known() ? fmt::format("{}", dims_[axis].size()) : std::string("?");
  }
  if (rank() == 1) text += ",";
  return text + ")";
}

std::optional<std::int64_t> product(std::span<const Dim> sizes) {
  std::int64_t all = 1;
  bool empty = false, overflows = false;
  for (const Dim size : sizes) {
    if (!size.known()) return std::nullopt;
    if (size.size() == 0)
      empty = true;
    else
      overflows = __builtin_mul_overflow(all, size.size(), &all) || overflows;
  }
  if (overflows) throw too_large(Shape(std::vector<Dim>(sizes.begin(), sizes.end())));
  return empty ? 0 : all;
}

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank()) return Shape::unknown();
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims(rank, Dim(1));
  for (std::size_t i = 0; i < rank; ++i) {
    Dim x = i < a.rank() ? a[a.rank() - 1 - i] : Dim(1);
    Dim y = i < b.rank() ? b[b.rank() - 1 - i] : Dim(1);
    Dim& out = dims[rank - 1 - i];
    if (x == y)
      out = x;
    else if (x == Dim(1))
      out = y;
    else if (y == Dim(1))
      out = x;
    else if (x.known() && y.known())
      return std::nullopt;
    else  // the unknown one must be 1 or the same size; as in TensorFlow, an empty one decides
          // nothing
      out = x == Dim(0) || y == Dim(0) ? Dim(None) : x.known() ? x : y;
  }
  return Shape(std::move(dims));
}

std::optional<std::size_t> normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::ostream& types::operator<<(std::ostream& out, const Dim& dim) {
  return dim.known() ? out << dim.size() : out << "?";
}

std::ostream& types::operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.text();
}

}  // namespace towerflow
