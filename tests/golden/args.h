#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "autodiff/gradients.h"
#include "core/runtime/session.h"
#include "ops/math/reduce.h"
#include "tests/golden/value.h"

namespace towerflow::golden {

/// The arguments of a call. The getters return `missing`, TensorFlow's default, for an argument
/// that is absent or None. Records which arguments were read, so that an unread one is an error.
class Args {
 public:
  explicit Args(std::map<std::string, Value> values) : values_(std::move(values)) {}

  /// Returns whether the argument is given; None counts as given.
  bool has(const char* name) const;
  /// Returns the argument, None if it is missing.
  const Value& value(const char* name) const;

  bool flag(const char* name, bool missing = false) const;
  std::int64_t integer(const char* name, std::int64_t missing = 0) const;
  double number(const char* name, double missing = 0) const;
  std::string text(const char* name, const char* missing = "") const;
  std::optional<std::int64_t> optional_integer(const char* name) const;
  std::optional<std::string> optional_text(const char* name) const;
  std::optional<bool> optional_flag(const char* name) const;
  std::optional<std::vector<std::string>> texts(const char* name) const;
  DType dtype(const char* name, DType missing = DType::float32) const;
  std::optional<DType> optional_dtype(const char* name) const;
  std::optional<Shape> shape(const char* name) const;

  Operand operand(const char* name) const { return to_operand(value(name)); }
  /// Returns an axis: None, a number, a list of numbers or a tensor.
  Axis axis(const char* name = "axis") const;
  Tensor tensor(const char* name) const;
  Variable variable(const char* name) const;
  std::optional<Variable> optional_variable(const char* name) const;
  std::vector<Variable> variables(const char* name) const;
  std::vector<Tensor> tensors(const char* name) const;
  const List& list(const char* name) const;
  const Object& object(const char* name) const;
  template <class T>
  T object_as(const char* name) const {
    return std::any_cast<T>(object(name).object);
  }

  /// Throws BadProgram if an argument was not read by any getter.
  void check_all_read() const;

 private:
  [[noreturn]] void throw_wrong_argument(const char* name, const char* wanted) const;

  std::map<std::string, Value> values_;
  mutable std::set<std::string> read_;
};

/// Returns a tensor or a variable's value; throws BadProgram for anything else.
Tensor to_tensor(const Value& value);
/// Converts slices or anything that to_tensor accepts; None is an absent gradient.
OptionalGradient gradient_of(const Value& value);
/// Returns the argument "aggregation_method".
AggregationMethod aggregation_method_of(const Args& args);
/// Converts a tensor, variable or operation to a fetch; throws BadProgram for anything else.
Fetch to_fetch(const Value& value);

}  // namespace towerflow::golden
