#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::types {

/// Which part of a partitioned variable an initial value is for.
struct PartitionInfo {
  Shape full_shape;
  std::vector<std::int64_t> var_offset;  ///< where the part begins, one for each dimension
};

/// Makes an initial value of a shape and dtype inside the variable's `Initializer` scope.
using InitializerFunction = std::function<Tensor(const Shape& shape, DType dtype, Site site)>;
/// The same, told which part of a variable it is for; nullptr for a whole one.
using PartInitializerFunction = std::function<Tensor(const Shape& shape, DType dtype,
                                                     const PartitionInfo* partition, Site site)>;
/// Makes an initial value that has a shape and dtype of its own.
using InitialValueFunction = std::function<Tensor()>;

/// How a variable is initialised: by a function of shape and dtype, by a function without
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
  /// Whether it makes values of the shape it is asked for.
  bool takes_shape() const { return function_ != nullptr; }

  /// The initial value; `shape` is given where it takes one. Throws TypeError where it does not.
  Tensor make(const Shape* shape, DType dtype, const PartitionInfo* partition, Site site) const;

 private:
  PartInitializerFunction function_;
  InitialValueFunction make_value_;
  std::optional<Operand> value_;
};

}  // namespace towerflow::types
