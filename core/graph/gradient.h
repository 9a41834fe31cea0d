#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/tensor.h"

namespace towerflow::types {

/// A tensor that is zero except in some slices of its first dimension: the gradient of `gather`.
///
/// values [n, d1, ...] are the rows `indices` [n] of a tensor of shape dense_shape; rows that occur
/// several times add up.
struct IndexedSlices {
  Tensor values;
  Tensor indices;
  std::optional<Tensor> dense_shape;  ///< integer vector, as in TensorFlow

  const std::string& device() const { return values.device(); }
  std::string name() const { return values.name(); }
  DType dtype() const { return values.dtype(); }
  bool operator==(const IndexedSlices&) const = default;
};

/// What a gradient is of and where it was requested, for errors about it.
struct GradientOrigin {
  Tensor y;           ///< the loss; the first of several
  Tensor x;           ///< a variable's storage, or any tensor
  std::string scope;  ///< the name scope open at the call, such as a tower's
  Site site;          ///< of the call of `gradients` or `compute_gradients`
  int towers = 1;     ///< how many towers' gradients it is the mean of
};

/// A gradient that exists. An absent one is an empty OptionalGradient.
class Gradient {
 public:
  Gradient(Tensor dense) : value_(dense) {}           // NOLINT: a tensor is a gradient
  Gradient(IndexedSlices slices) : value_(slices) {}  // NOLINT: and so are slices

  bool is_dense() const { return std::holds_alternative<Tensor>(value_); }
  /// Returns the dense tensor. Throws TypeError for slices, naming the variable;
  /// `convert_to_tensor` densifies.
  Tensor dense(Site site = Site::current()) const;
  const IndexedSlices& slices(Site site = Site::current()) const;
  std::string name() const { return representative().name(); }
  DType dtype() const { return representative().dtype(); }
  Operation op() const { return representative().op(); }
  const std::string& device() const { return representative().device(); }
  /// Returns the dense tensor or the slices' values.
  Tensor representative() const;
  /// Returns the gradient with other values, at the same rows if it is slices; for clipping or
  /// scaling.
  Gradient with_values(Tensor values) const;
  /// Returns the gradient with `function` applied to its tensor, or to each tensor of its slices.
  template <class Function>
  Gradient mapped(const Function& function) const {
    if (is_dense()) return with_values(function(dense()));
    const IndexedSlices& own = slices();
    IndexedSlices made{function(own.values), function(own.indices), std::nullopt};
    if (own.dense_shape) made.dense_shape = function(*own.dense_shape);
    return made;
  }
  /// Throws TypeError: the gradient is IndexedSlices, `problem`. The hint says how to make it
  /// dense, then `also`.
  [[noreturn]] void throw_slices(const std::string& problem, const char* also, Site site) const;
  bool operator==(const Gradient& other) const { return value_ == other.value_; }

 private:
  friend class OptionalGradient;

  std::variant<Tensor, IndexedSlices> value_;
  std::shared_ptr<const GradientOrigin> origin_;
};

/// A gradient, or nothing if no path leads from y to x. Like std::optional, but access to an absent
/// gradient throws ValueError, naming the variable and the tower.
class OptionalGradient : public std::optional<Gradient> {
 public:
  using std::optional<Gradient>::optional;
  OptionalGradient(std::optional<Gradient> gradient)  // NOLINT: it is one
      : std::optional<Gradient>(std::move(gradient)) {}

  const Gradient& operator*() const { return value({}); }
  const Gradient* operator->() const { return &value({}); }
  /// Returns the gradient; an error names `site`.
  const Gradient& value(Site site = Site::current()) const;

  /// Returns what the gradient is of, or nullptr if that is not known.
  const std::shared_ptr<const GradientOrigin>& origin() const;
  /// Returns the same gradient, or absence, with another origin; for functions that combine
  /// gradients, as averaging does.
  OptionalGradient with_origin(std::shared_ptr<const GradientOrigin> origin) const;
  bool operator==(const OptionalGradient& other) const { return base() == other.base(); }
  bool operator==(std::nullopt_t) const { return !has_value(); }

 private:
  const std::optional<Gradient>& base() const { return *this; }

  std::shared_ptr<const GradientOrigin> origin_;  // of an absent gradient
};

/// A gradient in any of its forms. Functions that take a tensor accept it too: an op converts
/// slices to a dense tensor, and an absent gradient is an error that names it.
template <class T>
concept GradientLike = std::same_as<T, Gradient> || std::same_as<T, OptionalGradient> ||
    std::same_as<T, IndexedSlices>;

/// Anything usable as a tensor in an expression: a tensor, a variable or a gradient.
template <class T>
concept TensorLike = std::convertible_to<const T&, Tensor> || GradientLike<T>;

/// A present gradient and the line of the call: the operand of operators that leave slices as they
/// are. Throws ValueError for an absent gradient.
class PresentGradient {
 public:
  template <GradientLike T>
  PresentGradient(const T& gradient, Site site = Site::current())  // NOLINT: -grads[0]
      : PresentGradient(Given(), gradient, site) {}

  const Gradient& gradient() const { return gradient_; }
  Site site() const { return site_; }

 private:
  struct Given {};
  PresentGradient(Given, const OptionalGradient& gradient, Site site)
      : gradient_(gradient.value(site)), site_(site) {}

  Gradient gradient_;
  Site site_;
};

/// A list of tensors, variables or gradients, some of which may be absent.
struct GradientList : std::vector<OptionalGradient> {
  GradientList() = default;
  GradientList(std::initializer_list<OptionalGradient> items);  // NOLINT: {grads[0], None, x}
  GradientList(std::vector<OptionalGradient> items);            // NOLINT
  template <TensorLike T>
  requires(!std::same_as<T, OptionalGradient>)
      GradientList(const std::vector<T>& items) {  // NOLINT: trainable_variables()
    for (const T& item : items) {
      if constexpr (GradientLike<T>)
        push_back(item);
      else
        push_back(static_cast<Tensor>(item));
    }
  }
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns the tensor of `value`. Throws an error that names the gradient if it is slices or
/// absent.
template <TensorLike T>
Tensor tensor_of(const T& value, Site site) {
  if constexpr (GradientLike<T>)
    return PresentGradient(value, site).gradient().dense(site);
  else
    return static_cast<Tensor>(value);
}

}  // namespace towerflow
