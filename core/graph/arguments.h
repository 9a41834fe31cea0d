#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/graph/types.h"

/// Options in braces, `f(x, {.name = "a"})`, are the options of `f`, or the call does not compile.
///
/// g++ 12 needs help with that. If the class of a parameter has a list constructor, g++ drops the
/// names in the braces and tries each constructor of the class with the bare value: "a" would be
/// taken for the operand. The parameters before the options of a public function are therefore
///
/// - of types without a list constructor, if no list is meant: Text and std::string_view,
///   ScalarOperand, numbers, std::optional, std::span;
/// - std::initializer_list itself, which rejects names;
/// - Operand, Axis and Extents, which take values and lists. Each of their constructors is a
///   template and has a twin, which matters only in this case. Here g++ also considers explicit
///   constructors and prefers non-templates: it finds the explicit twin for the kind of value, and
///   reports an error. The twin of the list constructor is a deleted template: neither is better,
///   which is an error too. An explicit list, `Operand({1, 2})`, has a third, explicit constructor,
///   which is better than both.
///
/// tests/towerflow/options_first.py writes a test of each function with each of its options first.
namespace towerflow::types {

template <class T>
concept TextValue =
    std::convertible_to<const T&, std::string> || std::convertible_to<const T&, std::string_view>;

/// A string that a function takes before its options: anything that converts to a std::string.
class Text {
 public:
  template <TextValue T>
  Text(const T& text) : text_(text) {}                   // NOLINT: "model.ckpt"
  operator const std::string&() const { return text_; }  // NOLINT: it is one
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

/// The first member of options that may be passed in place of a parameter, so that a list there is
/// not taken for them: nothing converts to it implicitly.
struct ByName {
  explicit ByName() = default;
};

/// The list parameter of a list constructor's twin. Its type depends on `Item`, so that the twin
/// itself is not a list constructor.
template <class Item>
using TwinList = std::type_identity_t<std::initializer_list<Item>>;

}  // namespace towerflow::types
