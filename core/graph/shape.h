#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/types.h"

namespace towerflow::types {

/// Python's None: an unknown dimension, an absent name, an absent gradient.
inline constexpr std::nullopt_t None = std::nullopt;

/// One dimension of a Shape: a size in elements, or unknown.
class Dim {
 public:
  template <std::integral T>
  constexpr Dim(T size) : size_(static_cast<std::int64_t>(size)) {}  // NOLINT: {5, 5, 1, 32}
  constexpr Dim(std::nullopt_t) : size_(kUnknown) {}                 // NOLINT: {None, 784}

  constexpr bool known() const { return size_ != kUnknown; }
  /// The size; -1 when unknown.
  constexpr std::int64_t size() const { return size_; }
  bool operator==(const Dim&) const = default;
  template <std::integral T>
  constexpr bool operator==(T size) const {
    return *this == Dim(size);
  }

  /// `int n = x.shape()[0]`: the size; throws TypeError when it is unknown, as int(None) does.
  operator std::int64_t() const {  // NOLINT: a dimension is a number
    if (!known()) throw_unknown();
    return size_;
  }
  /// Whether a dimension is known is asked with `known`, whether it is empty with `== 0`.
  template <std::same_as<bool> T>
  operator T() const = delete;

 private:
  [[noreturn]] static void throw_unknown();

  static constexpr std::int64_t kUnknown = -1;
  std::int64_t size_;
};

/// Row-major shape of a tensor, possibly with unknown dimensions or unknown rank.
///
/// Images are NHWC and filters HWIO, as in TensorFlow. Two shapes are equal when they are the same
/// description; whether an unknown could be equal is asked with `compatible`.
class Shape {
 public:
  Shape() = default;  ///< the shape of a scalar, `[]`
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  /// From known sizes; -1 is an unknown one.
  explicit Shape(std::span<const std::int64_t> sizes);
  static Shape unknown();                  ///< nothing known, not even the rank
  static Shape of_rank(std::size_t rank);  ///< `rank` unknown dimensions

  bool has_rank() const { return has_rank_; }
  /// Number of dimensions; 0 when the rank is unknown.
  std::size_t rank() const { return dims_.size(); }
  const std::vector<Dim>& dims() const { return dims_; }
  /// A negative `axis` counts from the end; unknown where the rank is. Throws ValueError for an
  /// axis that is not there.
  template <std::integral T>
  Dim operator[](T axis) const {
    const auto index = static_cast<std::size_t>(axis);
    return index < dims_.size() ? dims_[index] : dim_from_end(static_cast<std::int64_t>(axis));
  }
  /// The size of `axis`, -1 when unknown.
  template <std::integral T>
  std::int64_t size(T axis) const {
    return (*this)[axis].size();
  }
  std::vector<std::int64_t> sizes() const;

  /// Rank and every dimension known.
  bool fully_known() const;
  /// Product of the dimensions: 1 for a scalar, -1 when not fully known. Throws
  /// ValueError where 64 bits do not hold it, also beside a size of 0: whatever part of the
  /// dimensions a kernel multiplies then fits too.
  std::int64_t elements() const;
  /// Of elements of `of_one` bytes each. Throws ValueError as `elements`.
  std::size_t bytes(std::size_t of_one) const;

  bool compatible(const Shape& other) const;
  /// The more precise of both, or nothing when they contradict each other.
  std::optional<Shape> merged(const Shape& other) const;
  Shape concatenated(const Shape& other) const;

  /// "(64, 28, ?, 1)", "()" for a scalar, "<unknown>": TensorFlow's text.
  std::string text() const;

  bool operator==(const Shape&) const = default;

 private:
  Dim dim_from_end(std::int64_t axis) const;

  std::vector<Dim> dims_;
  bool has_rank_ = true;
};

std::ostream& operator<<(std::ostream& out, const Dim& dim);  ///< "28", "?"
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace towerflow::types

namespace towerflow {

/// The sizes multiplied: 0 beside a 0, nothing where one is unknown. Throws ValueError where
/// 64 bits do not hold the product of all that are not 0.
std::optional<std::int64_t> product(std::span<const Dim> sizes);

/// NumPy's broadcast of two shapes, or nothing when they do not broadcast.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

/// An axis of -rank .. rank-1 made non-negative, or nothing when it is out of range.
std::optional<std::size_t> normalized_axis(std::int64_t axis, std::size_t rank);

/// The rank that a tensor with dimension `axis` has at least: 3 for 2 and for -3.
constexpr std::uint64_t least_rank(std::int64_t axis) {
  const auto bits = static_cast<std::uint64_t>(axis);
  return axis < 0 ? 0 - bits : bits + 1;
}

}  // namespace towerflow
