#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/graph/types.h"

/// Options in braces, `f(x, {.name = "a"})`, mean the options of `f`, or the call does not compile.
///
/// g++ 12 needs help with that. Where the class of a parameter has a constructor for lists, it
/// drops the names in the braces and tries each constructor of the class with the bare value: "a"
/// would be taken for the operand. So the parameters before the options of a public function are
///
/// - of types without a constructor for lists, where no list is meant: Text and std::string_view,
///   ScalarOperand, numbers, std::optional, std::span;
/// - std::initializer_list itself, for which names are refused;
/// - Operand, Axis and Extents, which take values and lists. Each constructor of theirs is a
///   template and has a twin that matters in that case alone. There g++ looks at explicit
///   constructors too and prefers what is no template: it finds the explicit twin for the kind of
///   value, and makes an error of it. The twin of the constructor for lists is a deleted template:
///   neither is better, which is an error too, but where `Operand({1, 2})` is written out: there
///   an explicit third one is better than both.
///
/// tests/towerflow/options_first.py writes a test of each function with each of its options first.
namespace towerflow::types {

template <class T>
concept TextValue =
    std::convertible_to<const T&, std::string> || std::convertible_to<const T&, std::string_view>;

/// A text that a function takes before its options: whatever converts to a std::string.
class Text {
 public:
  template <TextValue T>
  Text(const T& text) : text_(text) {}                   // NOLINT: "model.ckpt"
  operator const std::string&() const { return text_; }  // NOLINT: it is one
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

/// What stands first in options that may be given in the place of a parameter, so that a list there
/// is not taken for them: nothing but `{}` converts to it.
struct ByName {
  explicit ByName() = default;
};

/// A list, in the twin of a constructor for lists: none itself, as its type depends on `Item`.
template <class Item>
using TwinList = std::type_identity_t<std::initializer_list<Item>>;

}  // namespace towerflow::types
