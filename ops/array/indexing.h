#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <variant>
#include <vector>

#include "core/graph/operand.h"
#include "core/graph/site.h"

namespace towerflow::types {

/// Entries of an index that are not numbers.
enum class IndexMark {
  all,       ///< every element of a dimension: Python's `:`
  ellipsis,  ///< all dimensions without an entry: Python's `...`
  newaxis,   ///< a new dimension of size 1: tf.newaxis
};

/// A whole number that is not a bool.
template <class T>
concept IndexNumber = std::integral<T> && !std::same_as<T, bool>;

/// One end of a range: a number, a scalar tensor, or None or an unknown size for an open end.
class IndexBound {
 public:
  template <IndexNumber T>
  IndexBound(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT: {0, -1}
  template <std::convertible_to<Tensor> T>
  IndexBound(const T& tensor) : value_(static_cast<Tensor>(tensor)) {}  // NOLINT: {begin, end}
  template <std::same_as<Dim> T>
  IndexBound(const T& size) : is_dimension_(size.known()) {  // NOLINT: {0, y.shape()[0]}
    if (size.known()) value_ = size.size();
  }
  IndexBound(std::nullopt_t) {}  // NOLINT: {1, None}

  bool open() const { return std::holds_alternative<std::monostate>(value_); }
  const std::int64_t* number() const { return std::get_if<std::int64_t>(&value_); }
  const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }
  /// Returns whether the number is the size of a dimension, for which TensorFlow adds other nodes.
  bool is_dimension() const { return is_dimension_; }

 private:
  std::variant<std::monostate, std::int64_t, Tensor> value_;
  bool is_dimension_ = false;
};

/// What an index says of one dimension: a number or scalar tensor, which takes one element and
/// removes the dimension; a range {begin, end} or {begin, end, step}; `tf::all`, `tf::ellipsis` or
/// `tf::newaxis`.
class Index {
 public:
  template <IndexNumber T>
  Index(T value) : begin_(value) {}  // NOLINT: {1, 2}
  template <std::convertible_to<Tensor> T>
  Index(const T& tensor) : begin_(tensor) {}  // NOLINT: {i, j}
  /// Throws TypeError for an unknown size.
  template <std::same_as<Dim> T>
  Index(const T& size) : begin_(Dim(static_cast<std::int64_t>(size))) {}  // NOLINT
  Index(IndexMark mark) : mark_(mark) {}                                  // NOLINT: {tf::all, 0}
  Index(std::nullopt_t) : mark_(IndexMark::newaxis) {}  // NOLINT: {None, 0}, as in Python
  Index(IndexBound begin, IndexBound end, IndexBound step = std::nullopt)
      : range_(true), begin_(std::move(begin)), end_(std::move(end)), step_(std::move(step)) {}

  const std::optional<IndexMark>& mark() const { return mark_; }
  bool is_range() const { return range_; }
  const IndexBound& begin() const { return begin_; }  ///< the element, if it is no range
  const IndexBound& end() const { return end_; }
  const IndexBound& step() const { return step_; }

 private:
  std::optional<IndexMark> mark_;
  bool range_ = false;
  IndexBound begin_ = std::nullopt, end_ = std::nullopt, step_ = std::nullopt;
};

/// What stands in the brackets of `x[..]`, which returns part of a tensor or variable: one entry,
/// or several in braces, one for each dimension.
///
///   x[0]                      the first element of the first dimension, which is removed
///   x[{1, tf::all, {0, -1}}]  Python's x[1, :, 0:-1]
///   x[{{0, None, 2}}]         Python's x[0::2]; None is an open end
///   x[{tf::ellipsis, i}]      Python's x[..., i]; numbers may be scalar tensors
///   x[{0, tf::newaxis}]       Python's x[0, tf.newaxis]
///   x[mask]                   tf.boolean_mask(x, mask), for a tensor of bools
///
/// shapes   x [d0, ..] -> one size for each dimension kept or new
/// dtypes   x all; indices int32 or int64, mixed ones are cast to int64
/// grads    x: dy at the elements taken, zeros elsewhere; indices: none
/// errors   ValueError: more entries than dimensions, two ellipses, a step of 0, an index out of
///          bounds; TypeError: a tensor that is a vector or no integer; at run time
///          InvalidArgumentError: the value of an index is out of bounds
/// source   tf.Tensor.__getitem__
class Indices {
 public:
  template <std::convertible_to<Index> T>
  Indices(const T& one, Site site = Site::current())  // NOLINT: x[0], x[i], x[tf::newaxis]
      : items_{Index(one)}, single_(true), site_(site) {}
  Indices(std::initializer_list<Index> items, Site site = Site::current())  // NOLINT: x[{1, 2}]
      : items_(items), site_(site) {}
  Indices(std::vector<Index> items, Site site = Site::current())  // NOLINT: x[items]
      : items_(std::move(items)), site_(site) {}

  const std::vector<Index>& items() const { return items_; }
  /// Returns whether there were no braces: a tensor of bools is a mask then.
  bool single() const { return single_; }
  Site site() const { return site_; }

 private:
  std::vector<Index> items_;
  bool single_ = false;
  Site site_;
};

}  // namespace towerflow::types

namespace towerflow {

using enum types::IndexMark;

}  // namespace towerflow
