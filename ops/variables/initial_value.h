#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::types {

/// The part of a partitioned variable that an initial value is for.
struct PartitionInfo {
  Shape full_shape;
  std::vector<std::int64_t> var_offset;  ///< offset of the part in each dimension
};

/// Makes an initial value of a shape and dtype inside the variable's `Initializer` scope.
using InitializerFunction = std::function<Tensor(const Shape& shape, DType dtype, Site site)>;
/// The same, given the part of the variable that it is for; nullptr for a whole variable.
using PartInitializerFunction = std::function<Tensor(const Shape& shape, DType dtype,
                                                     const PartitionInfo* partition, Site site)>;
/// Makes an initial value with its own shape and dtype.
using InitialValueFunction = std::function<Tensor()>;

/// How a variable is initialized: by a function of shape and dtype, by a function without
/// arguments, or by a value.
class Initializer {
 public:
  Initializer(InitializerFunction function)  // NOLINT
      : function_([call = std::move(function)](const Shape& shape, DType dtype,
                                               const PartitionInfo*,
                                               Site site) { return call(shape, dtype, site); }) {}
  Initializer(PartInitializerFunction function) : function_(std::move(function)) {}     // NOLINT
  Initializer(InitialValueFunction make_value) : make_value_(std::move(make_value)) {}  // NOLINT
  Initializer(Operand value) : value_(std::move(value)) {}  // NOLINT: {.initializer = 1.0}
  template <std::convertible_to<Operand> T>
  requires(!std::same_as<T, Operand>) Initializer(const T& value) : value_(value) {}  // NOLINT
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, const Shape&, DType, Site> Initializer(
      F function)
      : Initializer(InitializerFunction(std::move(function))) {}  // NOLINT: a lambda
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&> Initializer(F make_value)
      : Initializer(InitialValueFunction(std::move(make_value))) {}  // NOLINT: a lambda

  bool is_value() const { return value_.has_value(); }
  const Operand& value() const { return *value_; }
  /// Returns whether it makes values of a requested shape.
  bool takes_shape() const { return function_ != nullptr; }

  /// Returns the initial value. Needs `shape` if it takes one, else throws TypeError for a shape.
  Tensor make(const Shape* shape, DType dtype, const PartitionInfo* partition, Site site) const;

 private:
  PartInitializerFunction function_;
  InitialValueFunction make_value_;
  std::optional<Operand> value_;
};

}  // namespace towerflow::types
