#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

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

/// Whether a type can be made from a value; what only a rewrite makes need not be.
template <class Conversion>
concept ReadsValue = requires(const typename Conversion::Value& value) {
  Conversion::from(value);
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
  static std::optional<std::vector<T>> from(const Value& values) requires ReadsValue<One> {
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
  static std::optional<std::array<T, kSize>> from(const Value& values) requires ReadsValue<List> {
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

/// What is done with members of one type, whichever struct they are in.
struct MemberType {
  const char* (*name)();  ///< of the AttrValue: "int"
  bool (*equal)(const void* a, const void* b);
  AttrValue (*value)(const void* member);
  /// False where the value does not fit.
  bool (*assign)(const AttrValue& value, void* member);
};

/// A field as code sees it that knows nothing of the struct. Lists of these keep the work with
/// attributes out of templates: a struct compiles to its list, whatever is done with it.
struct FieldInfo {
  const char* name;
  std::ptrdiff_t offset;
  const MemberType* type;
  bool required;
  bool is_name;  ///< `NameOf`: a name that the graph gave
  int input;     ///< of a NameOf

  const void* address_in(const void* attributes) const {
    return static_cast<const char*>(attributes) + offset;
  }
  void* address_in(void* attributes) const { return static_cast<char*>(attributes) + offset; }
};
using FieldList = std::vector<FieldInfo>;

template <class T>
bool assign_member(const AttrValue& given, void* member) {
  using Conversion = AttrConversion<T>;
  using Value = typename Conversion::Value;
  if constexpr (ReadsValue<Conversion>) {
    const Value* value = given.get_if<Value>();
    if constexpr (requires(Value list) { list.clear(); }) {
      static const Value kNone{};
      if (value == nullptr && given.is_empty_list()) value = &kNone;  // its type is not written
    }
    if (value == nullptr) return false;
    std::optional<T> converted = Conversion::from(*value);
    if (!converted) return false;
    *static_cast<T*>(member) = *std::move(converted);
    return true;
  } else {
    return false;
  }
}

template <class T>
inline constexpr MemberType kMemberType{
    [] { return attr_type(typename AttrConversion<T>::Value{}); },
    [](const void* a, const void* b) {
      return *static_cast<const T*>(a) == *static_cast<const T*>(b);
    },
    [](const void* member) {
      return AttrValue(AttrConversion<T>::to(*static_cast<const T*>(member)));
    },
    assign_member<T>};

template <class S>
const FieldList& fields_of();

template <class S, class D>
void add_field(FieldList& list, const S& sample, const D& described) {
  const auto& member = sample.*described.member;
  using Member = std::remove_cvref_t<decltype(member)>;
  const std::ptrdiff_t offset =
      reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(&sample);
  if constexpr (requires { described.required; }) {
    list.push_back(
        {described.name, offset, &kMemberType<Member>, described.required, false, kOwnName});
  } else if constexpr (requires { described.input; }) {
    list.push_back({described.name, offset, &kMemberType<Member>, false, true, described.input});
  } else {
    for (FieldInfo inner : fields_of<Member>()) {
      inner.offset += offset;
      list.push_back(inner);
    }
  }
}

/// The fields of a struct in their order, with those of included structs in place.
template <class S>
const FieldList& fields_of() {
  static const FieldList list = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    const S sample{};
    FieldList made;
    (add_field(made, sample, std::get<kIndex>(S::fields)), ...);
    return made;
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(S::fields)>>());
  return list;
}

}  // namespace attr
}  // namespace towerflow
