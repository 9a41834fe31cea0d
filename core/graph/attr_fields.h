#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <tuple>
#include <utility>

#include "core/graph/attr_value.h"

namespace towerflow {

/// How a field of an attribute struct becomes a value that TensorFlow has, and is read from one.
/// A type of its own, an enumeration say, has a specialization beside it: `Value`, the alternative
/// of AttrValue; `to`; and `from`, where nodes are made from what a file says.
template <class T>
struct AttrConversion {
  using Value = T;
  static const T& to(const T& value) { return value; }
  static std::optional<T> from(const T& value) { return value; }
};

template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, std::int64_t>) struct AttrConversion<T> {
  using Value = std::int64_t;
  static Value to(T value) { return static_cast<Value>(value); }
  static std::optional<T> from(Value value) {
    if (!std::in_range<T>(value)) return std::nullopt;
    return static_cast<T>(value);
  }
};

/// TensorFlow's names of the values of an enumeration, in their order: specialized beside it.
template <class E>
inline constexpr std::array<const char*, 0> kAttrNames{};

template <class E>
requires(std::is_enum_v<E> && !std::same_as<E, DType>) struct AttrConversion<E> {
  using Value = std::string;
  static Value to(E value) { return kAttrNames<E>.at(static_cast<std::size_t>(value)); }
  static std::optional<E> from(const Value& name) {
    const auto at = std::find(kAttrNames<E>.begin(), kAttrNames<E>.end(), name);
    if (at == kAttrNames<E>.end()) return std::nullopt;
    return static_cast<E>(at - kAttrNames<E>.begin());
  }
};

template <class T>
struct AttrConversion<std::vector<T>> {
  using One = AttrConversion<T>;
  using Value = std::vector<typename One::Value>;
  static Value to(const std::vector<T>& list) {
    Value values;
    for (const T& item : list) values.push_back(One::to(item));
    return values;
  }
  static std::optional<std::vector<T>> from(const Value& values) {
    std::vector<T> list;
    for (const typename One::Value& value : values) {
      std::optional<T> item = One::from(value);
      if (!item) return std::nullopt;
      list.push_back(*std::move(item));
    }
    return list;
  }
};

template <class T, std::size_t kSize>
struct AttrConversion<std::array<T, kSize>> {
  using List = AttrConversion<std::vector<T>>;
  using Value = typename List::Value;
  static Value to(const std::array<T, kSize>& items) {
    return List::to(std::vector<T>(items.begin(), items.end()));
  }
  static std::optional<std::array<T, kSize>> from(const Value& values) {
    const std::optional<std::vector<T>> list = List::from(values);
    if (!list || list->size() != kSize) return std::nullopt;
    std::array<T, kSize> items{};
    std::copy(list->begin(), list->end(), items.begin());
    return items;
  }
};

/// An attribute struct says once what it holds, under TensorFlow's names:
///
///     struct CumsumAttrs {
///       bool exclusive = false;
///       bool reverse = false;
///       static constexpr auto fields = std::tuple{attr::field("exclusive",
///       &CumsumAttrs::exclusive),
///                                                 attr::field("reverse", &CumsumAttrs::reverse)};
///     };
///
/// From this come equality, hash and text, and what a NodeDef says of the node. A member that is
/// not listed is none of the node's attributes. Names that begin with '_' are the library's own:
/// TensorFlow passes over them.
namespace attr {

/// A field; one that is not required has the default that its member has.
template <class S, class T>
struct Field {
  const char* name;
  T S::*member;
  bool required;
};

/// A struct in the struct: its fields count as those of the outer one.
template <class S, class T>
struct Included {
  T S::*member;
};

inline constexpr int kOwnName = -1;

/// A name that the graph gave: what it says goes without saying in a NodeDef, and a copy under
/// another name gets another one.
template <class S>
struct NameOf {
  const char* name;
  std::string S::*member;
  int input;  ///< whose producer's name it is; kOwnName for the node's own
};

template <class S, class T>
constexpr Field<S, T> field(const char* name, T S::*member) {
  return {name, member, false};
}
template <class S, class T>
constexpr Field<S, T> required(const char* name, T S::*member) {
  return {name, member, true};
}
template <class S, class T>
constexpr Included<S, T> included(T S::*member) {
  return {member};
}
template <class S>
constexpr NameOf<S> own_name(const char* name, std::string S::*member) {
  return {name, member, kOwnName};
}
template <class S>
constexpr NameOf<S> input_name(int input, const char* name, std::string S::*member) {
  return {name, member, input};
}

template <class T>
concept HasFields = requires {
  T::fields;
};

/// Calls `visit(description, member)` for each field, with those of included structs in place.
template <class S, class Visit>
void visit_fields(S& attributes, const Visit& visit) {
  const auto one = [&]<class D>(const D& described) {
    if constexpr (requires { described.name; })
      visit(described, attributes.*described.member);
    else
      visit_fields(attributes.*described.member, visit);
  };
  std::apply([&](const auto&... described) { (one(described), ...); },
             std::remove_const_t<S>::fields);
}

template <class S>
bool equal_fields(const S& a, const S& b) {
  const auto one = [&]<class D>(const D& described) {
    if constexpr (requires { described.name; })
      return a.*described.member == b.*described.member;
    else
      return equal_fields(a.*described.member, b.*described.member);
  };
  return std::apply([&](const auto&... described) { return (one(described) && ...); }, S::fields);
}

}  // namespace attr
}  // namespace towerflow
