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
  /// Returns the size, -1 if unknown.
  constexpr std::int64_t size() const { return size_; }
  bool operator==(const Dim&) const = default;
  template <std::integral T>
  constexpr bool operator==(T size) const {
    return *this == Dim(size);
  }

  /// Returns the size, as in `int n = x.shape()[0]`. Throws TypeError if it is unknown, as
  /// int(None) does.
  operator std::int64_t() const {  // NOLINT: a dimension is a number
    if (!known()) throw_unknown();
    return size_;
  }
  /// Deleted: `known()` tells whether a dimension is known, `== 0` whether it is empty.
  template <std::same_as<bool> T>
  operator T() const = delete;

 private:
  [[noreturn]] static void throw_unknown();

  static constexpr std::int64_t kUnknown = -1;
  std::int64_t size_;
};

/// Row-major shape of a tensor, possibly with unknown dimensions or unknown rank.
///
/// Images are NHWC and filters HWIO, as in TensorFlow. `==` compares descriptions, unknown
/// dimensions included; `compatible` tells whether two shapes could be the same.
class Shape {
 public:
  Shape() = default;  ///< the shape of a scalar, `[]`
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  /// Constructs a shape from sizes; -1 is an unknown dimension.
  explicit Shape(std::span<const std::int64_t> sizes);
  static Shape unknown();                  ///< nothing known, not even the rank
  static Shape of_rank(std::size_t rank);  ///< `rank` unknown dimensions

  bool has_rank() const { return has_rank_; }
  /// Returns the number of dimensions, 0 if the rank is unknown.
  std::size_t rank() const { return dims_.size(); }
  const std::vector<Dim>& dims() const { return dims_; }
  /// Returns one dimension, an unknown one if the rank is unknown. A negative `axis` counts from
  /// the end. Throws ValueError if `axis` is out of range.
  template <std::integral T>
  Dim operator[](T axis) const {
    const auto index = static_cast<std::size_t>(axis);
    return index < dims_.size() ? dims_[index] : dim_from_end(static_cast<std::int64_t>(axis));
  }
  /// Returns the size of `axis`, -1 if unknown.
  template <std::integral T>
  std::int64_t size(T axis) const {
    return (*this)[axis].size();
  }
  std::vector<std::int64_t> sizes() const;

  /// Returns whether the rank and every dimension are known.
  bool fully_known() const;
  /// Returns the product of the dimensions: 1 for a scalar, -1 if not fully known. Throws
  /// ValueError if the product of the nonzero dimensions overflows 64 bits, even if another one is
  /// 0, so that kernels can multiply any of the dimensions without overflow.
  std::int64_t elements() const;
  /// Returns the size in bytes of a fully known shape, for elements of `bytes_per_element` bytes.
  /// Throws ValueError as `elements` does.
  std::size_t bytes(std::size_t bytes_per_element) const;

  bool compatible(const Shape& other) const;
  /// Returns the shape that combines what both know, or nullopt if they contradict each other.
  std::optional<Shape> merged(const Shape& other) const;
  Shape concatenated(const Shape& other) const;

  /// Returns TensorFlow's text: "(64, 28, ?, 1)", "()" for a scalar, "<unknown>".
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

/// Returns the product of the sizes, or nullopt if one is unknown. Throws ValueError if the product
/// of the nonzero sizes overflows 64 bits, even if another one is 0.
std::optional<std::int64_t> product(std::span<const Dim> sizes);

/// Returns the shape to which NumPy broadcasts two shapes, or nullopt if they do not broadcast.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

/// Returns an axis of -rank .. rank-1 as a non-negative one, or nullopt if it is out of range.
std::optional<std::size_t> normalized_axis(std::int64_t axis, std::size_t rank);

/// Returns the lowest rank of a tensor that has dimension `axis`: 3 for 2 and for -3.
constexpr std::uint64_t least_rank(std::int64_t axis) {
  const auto bits = static_cast<std::uint64_t>(axis);
  return axis < 0 ? 0 - bits : bits + 1;
}

}  // namespace towerflow
