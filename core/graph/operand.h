#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/graph/arguments.h"
#include "core/graph/array.h"
#include "core/graph/gradient.h"

namespace towerflow::types {

/// A literal in the program: a number, a string, a tensor, or nested braces of these.
///
/// As in TensorFlow, integers become int32 (int64 if they do not fit) and floating-point numbers
/// float32, unless the context requires another dtype.
class Nested {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Nested(T value)  // NOLINT: {1, 2, 3}
      : Nested(Literal(), static_cast<Widened<T>>(value)) {}
  Nested(const char* text);  // NOLINT: {"a", "b"}
  Nested(std::string text);  // NOLINT
  template <std::convertible_to<Tensor> T>
  Nested(const T& tensor)  // NOLINT: {x, y}
      : Nested(Literal(), static_cast<Tensor>(tensor)) {}
  /// Throws for an absent gradient and for slices: as in TensorFlow, only dense ones are packed.
  template <GradientLike T>
  Nested(const T& gradient, Site site = Site::current())  // NOLINT: {grads[0], grads[1]}
      : Nested(Literal(), tensor_of(gradient, site)) {}
  Nested(std::initializer_list<Nested> items);  // NOLINT
  Nested(std::vector<Nested> items);            // NOLINT
  template <class T>
  requires std::constructible_from<Nested, const T&> Nested(const std::vector<T>& items)  // NOLINT
      : Nested(std::vector<Nested>(items.begin(), items.end())) {}
  // Not inline, like Operand's: else each file that includes this would compile copies of them.
  Nested(const Nested& other);
  Nested(Nested&& other) noexcept;
  Nested& operator=(const Nested& other);
  Nested& operator=(Nested&& other) noexcept;
  ~Nested();

  using Value = std::variant<bool, std::int64_t, double, std::string, Tensor, std::vector<Nested>>;
  const Value& value() const { return value_; }
  bool holds_tensor() const;

 private:
  template <class T>
  using Widened =
      std::conditional_t<std::is_same_v<T, bool>, bool,
                         std::conditional_t<std::is_integral_v<T>, std::int64_t, double>>;
  struct Literal {
    explicit Literal() = default;
  };
  Nested(Literal, bool value);
  Nested(Literal, std::int64_t value);
  Nested(Literal, double value);
  Nested(Literal, Tensor value);

  Value value_;
};

}  // namespace towerflow::types

namespace towerflow {

/// Converts nested values to an Array of dtype `wanted` if given, else of the dtype described at
/// Nested. Throws ValueError for ragged braces, TypeError if a value does not fit the dtype.
Array to_array(const Nested& nested, std::optional<DType> wanted = std::nullopt);

/// Returns the sizes of a fully known shape as an int32 vector, int64 if one does not fit. Throws
/// ValueError for any other shape.
Array shape_to_array(const Shape& shape);

}  // namespace towerflow

namespace towerflow::types {

class Variable;

template <class T>
inline constexpr bool kNestableItems = false;
template <class T>
inline constexpr bool kNestableItems<std::vector<T>> = std::constructible_from<Nested, const T&>;

/// A number or a tensor.
template <class T>
concept ScalarValue = std::is_arithmetic_v<T> || std::convertible_to<const T&, Tensor>;
/// A type that converts to an Operand, besides Arrays and lists in braces.
template <class T>
concept OperandValue = ScalarValue<T> || GradientLike<T> || std::same_as<T, Shape> ||
    std::convertible_to<const T&, std::string> || kNestableItems<T>;

/// An argument of an op: a tensor, or something TensorFlow would convert to one, with the line
/// where it was written. The op converts it, so that a constant is named in the op's scope and
/// slices become dense there. An absent gradient throws ValueError immediately.
class Operand {
 public:
  template <OperandValue T>
  Operand(const T& value, Site site = Site::current())  // NOLINT: a number, text, tensor, variable
      : Operand(Held(), held(value), site) {
    is_variable_ = std::convertible_to<const T&, Tensor> && !std::same_as<T, Tensor>;
  }
  /// Keeps the array's dtype unless the op requires another one; then it is cast, as in NumPy.
  template <std::same_as<Array> T>
  Operand(T array, Site site = Site::current())  // NOLINT
      : Operand(Held(), std::move(array), site) {}
  template <std::same_as<Nested> T>
  Operand(T nested, Site site = Site::current())  // NOLINT
      : Operand(Held(), std::move(nested), site) {}
  template <class = void>
  Operand(const std::initializer_list<Nested>& items,
          Site site = Site::current())  // NOLINT: {1, 2}
      : Operand(Held(), Nested(items), site) {}

  // The twins, which keep options from being taken for an operand; see arguments.h.
  explicit Operand(bool value, Site site = Site::current());
  explicit Operand(int value, Site site = Site::current());
  explicit Operand(std::int64_t value, Site site = Site::current());
  explicit Operand(float value, Site site = Site::current());
  explicit Operand(double value, Site site = Site::current());
  explicit Operand(const char* text, Site site = Site::current());
  explicit Operand(const std::string& text, Site site = Site::current());
  explicit Operand(const Tensor& tensor, Site site = Site::current());
  explicit Operand(const std::vector<int>& items, Site site = Site::current());
  explicit Operand(const Variable& variable, Site site = Site::current());  ///< variable.cc
  template <class Item = Nested>
  Operand(const TwinList<Item>& items, Site site = Site::current()) = delete;

  // For explicit lists, `Operand({1, 2})`. The second takes values of one type and is a better
  // match than a value's twin, so that `Operand({1})` is a list too. Its pack, always empty, keeps
  // it from being an initializer-list constructor as the language defines it.
  template <class Item = Nested>
  explicit Operand(TwinList<Item>&& items, Site site = Site::current())
      : Operand(Held(), Nested(items), site) {}
  template <std::convertible_to<Nested> T, class... None>
  requires(!GradientLike<T>) explicit Operand(std::initializer_list<T>&& items, None...,
                                              Site site = Site::current())
      : Operand(Held(), Nested(std::vector<Nested>(items.begin(), items.end())), site) {}

  Operand(const Operand& other);
  Operand(Operand&& other) noexcept;
  Operand& operator=(const Operand& other);
  Operand& operator=(Operand&& other) noexcept;
  ~Operand();

  Site site() const { return site_; }
  /// Returns the operand with another site, for conversions that could not see the caller.
  Operand at(Site site) const;
  /// Returns the tensor if the operand is one already, else nullptr.
  const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }
  /// Returns whether that tensor was given as a variable.
  bool is_variable() const { return is_variable_; }
  /// Returns a tensor in the operand (for slices, their values), whose graph is the one to add to;
  /// nullptr if there is none.
  const Tensor* any_tensor() const;
  const Nested* nested() const { return std::get_if<Nested>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  /// Returns the gradient if the operand is slices, else nullptr. A dense gradient is kept as a
  /// tensor.
  const Gradient* slices() const {
    const auto* slices = std::get_if<std::shared_ptr<const Gradient>>(&value_);
    return slices == nullptr ? nullptr : slices->get();
  }

 private:
  struct Held {};
  Operand(Held, Tensor tensor, Site site);
  Operand(Held, Array array, Site site);
  Operand(Held, Nested nested, Site site);
  Operand(Held, const OptionalGradient& gradient, Site site);

  /// Converts a value to what is stored: a Tensor, an Array, a Nested or a gradient.
  template <class T>
  static auto held(const T& value) {
    if constexpr (std::convertible_to<const T&, Tensor>)
      return static_cast<Tensor>(value);
    else if constexpr (GradientLike<T>)
      return OptionalGradient(value);
    else if constexpr (std::same_as<T, Shape>)
      return shape_to_array(value);
    else if constexpr (std::convertible_to<const T&, std::string>)
      return Nested(std::string(value));
    else if constexpr (std::is_arithmetic_v<T>)
      return Nested(value);
    else
      return Nested(std::vector<Nested>(value.begin(), value.end()));
  }

  std::variant<Tensor, Array, Nested, std::shared_ptr<const Gradient>> value_;
  Site site_;
  bool is_variable_ = false;
};

/// An operand that is one number or tensor, not a list: an axis, a rate. `{0}` does not compile,
/// and `{.name = "a"}` can only mean the options that follow.
class ScalarOperand : public Operand {
 public:
  template <ScalarValue T>
  ScalarOperand(const T& value, Site site = Site::current()) : Operand(value, site) {}  // NOLINT
  template <std::same_as<Array> T>
  ScalarOperand(const T& value, Site site = Site::current()) : Operand(value, site) {}  // NOLINT
  template <std::same_as<Operand> T>
  ScalarOperand(const T& value) : Operand(value) {}  // NOLINT: as the op that calls another has it
  // Twins, so that `{0}` does not convert.
  explicit ScalarOperand(bool value, Site site = Site::current()) : Operand(value, site) {}
  explicit ScalarOperand(int value, Site site = Site::current()) : Operand(value, site) {}
  explicit ScalarOperand(std::int64_t value, Site site = Site::current()) : Operand(value, site) {}
  explicit ScalarOperand(float value, Site site = Site::current()) : Operand(value, site) {}
  explicit ScalarOperand(double value, Site site = Site::current()) : Operand(value, site) {}
  explicit ScalarOperand(Tensor value, Site site = Site::current()) : Operand(value, site) {}
};

/// Builders of tensors, by tensor name, that are rebuilt each time they are used as an operand.
/// Stored as an extension of the graph.
struct RebuiltTensors {
  std::map<std::string, std::function<Tensor()>> builders;
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns `array` in another dtype, cast as NumPy does. Throws TypeError for strings.
Array cast_elements(const Array& array, DType wanted);

/// Converts an operand to a tensor of `graph`: a tensor stays as it is; otherwise adds a node
/// called `name`, which is a Const, a Pack for a list that contains tensors, or an
/// UnsortedSegmentSum for slices. An empty name means TensorFlow's: "Const", "packed",
/// "UnsortedSegmentSum". Throws ValueError for a tensor of another dtype than `wanted`, TypeError
/// for a value that does not fit it. (tf.convert_to_tensor)
Tensor convert_operand(Graph& graph, const Operand& operand, const std::string& name,
                       std::optional<DType> wanted);

/// Converts slices likewise; defined above this folder, in ops/array/indexed_slices.cc.
Tensor densify(const IndexedSlices& slices, const std::string& name, std::optional<DType> wanted,
               Site site);

}  // namespace towerflow
