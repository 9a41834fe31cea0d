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

/// Converts a field of an attribute struct to and from a value that TensorFlow has. Another type,
/// such as an enumeration, has a specialization next to it: `Value`, an alternative of AttrValue;
/// `to`; and `from`, if nodes can be made from files.
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

/// TensorFlow's names of an enumeration's values, in order; specialized next to the enumeration.
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

/// A conversion that can read a value; types of attributes that only rewrites make need none.
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

/// An attribute struct declares its fields once, under TensorFlow's names:
///
///     struct CumsumAttrs {
///       bool exclusive = false;
///       bool reverse = false;
///       static constexpr auto fields =
///           std::tuple{attr::field("exclusive", &CumsumAttrs::exclusive),
///                      attr::field("reverse", &CumsumAttrs::reverse)};
///     };
///
/// Equality, hash, text and the attributes in a NodeDef follow from this. A member that is not
/// listed is not an attribute of the node. Names that begin with '_' are private to the library:
/// TensorFlow ignores them.
namespace attr {

/// A field; if it is not required, its default is that of the member.
template <class S, class T>
struct Field {
  const char* name;
  T S::*member;
  bool required;
};

/// A nested struct, whose fields count as those of the outer one.
template <class S, class T>
struct Included {
  T S::*member;
};

inline constexpr int kOwnName = -1;

/// A name that the graph assigned. A NodeDef does not contain it, since the node implies it, and a
/// copy of the node under another name gets another one.
template <class S>
struct NameOf {
  const char* name;
  std::string S::*member;
  int input;  ///< the input whose producer has this name; kOwnName for the node's own
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

/// Operations on members of one type, independent of the struct.
struct MemberType {
  const char* (*name)();  ///< of the AttrValue: "int"
  bool (*equal)(const void* a, const void* b);
  AttrValue (*value)(const void* member);
  /// Returns false if the value does not fit.
  bool (*assign)(const AttrValue& value, void* member);
};

/// A field without the type of its struct. Lists of these keep the handling of attributes out of
/// templates: a struct compiles only to its list, however it is used.
struct FieldInfo {
  const char* name;
  std::ptrdiff_t offset;
  const MemberType* type;
  bool required;
  bool is_name;  ///< `NameOf`: a name that the graph assigned
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
      if (value == nullptr && given.is_empty_list()) value = &kNone;  // its type is not stored
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

/// Returns the fields of a struct in order, with those of included structs in place.
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
