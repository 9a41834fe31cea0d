#pragma once

#include <any>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/operand.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::golden {

using Json = nlohmann::json;

/// The program is invalid or uses an op, argument or value form that the C++ side does not know.
/// Never an outcome of a call.
class BadProgram : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A reference to the result of an earlier call that failed or was skipped.
class Unbound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call that raises an error in Python and does not compile in C++.
class DoesNotCompile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Value;
using List = std::vector<Value>;
using Dict = std::map<std::string, Value>;

/// An optimizer, queue or reader: an object with methods. A "function" is the JSON of its form, a
/// "tuple" a list, a "State" the state of a cell.
struct Object {
  std::string type;
  std::any object;
};

/// Python's None.
struct NoneType {};

template <class T, class... Kinds>
concept OneOf = (std::is_same_v<T, Kinds> || ...);

/// The types that a Value can hold besides None, lists and dicts.
template <class T>
concept SingleValue =
    OneOf<T, bool, std::int64_t, double, std::string, Array, Tensor, Variable, Operation,
          IndexedSlices, Shape, VariableScopeHandle, Initializer, Object>;

/// An argument or result of a call.
class Value {
 public:
  using Held =
      std::variant<NoneType, bool, std::int64_t, double, std::string, Array, Tensor, Variable,
                   Operation, IndexedSlices, Shape, VariableScopeHandle, Initializer,
                   std::shared_ptr<const List>, std::shared_ptr<const Dict>, Object>;

  Value() = default;
  template <SingleValue T>
  Value(T value) : held_(std::in_place_type<T>, std::move(value)) {}  // NOLINT
  Value(const char* text) : held_(std::string(text)) {}               // NOLINT
  Value(List list);                                                   // NOLINT
  Value(Dict dict);                                                   // NOLINT

  /// Returns a gradient, None if it is absent.
  static Value of(const OptionalGradient& gradient);

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&held_);
  }
  bool none() const { return get_if<NoneType>() != nullptr; }
  const List* list() const;
  const Dict* dict() const;
  const Held& held() const { return held_; }
  /// Returns the kind of the value, for messages.
  std::string kind() const;

 private:
  Held held_;
};

/// Decodes an argument from JSON (README.md, "Values"). `bound` maps names to results of earlier
/// calls. Throws Unbound and BadProgram.
Value decode(const Json& json, const std::map<std::string, Value>& bound);

/// Converts numbers, strings, tensors and lists of them to an operand of an op.
Operand to_operand(const Value& value);
/// Converts the same to nested braces; a variable stands for its value.
Nested to_nested(const Value& value);
/// Converts a list of sizes; nullopt for None.
std::optional<Shape> to_shape(const Value& value);
/// Converts a name such as "float32"; throws BadProgram if no dtype has this name.
DType to_dtype(const std::string& name);

}  // namespace towerflow::golden
