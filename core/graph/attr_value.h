#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/graph/array.h"

namespace towerflow::types {

using AttrVariant =
    std::variant<bool, std::int64_t, float, std::string, DType, Shape, Array, std::vector<bool>,
                 std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>,
                 std::vector<DType>, std::vector<Shape>, std::vector<Array>>;

template <class T, class Variant>
inline constexpr bool kIsAlternative = false;
template <class T, class... Alternatives>
inline constexpr bool kIsAlternative<T, std::variant<Alternatives...>> =
    (std::is_same_v<T, Alternatives> || ...);

template <class T>
concept AttrType = kIsAlternative<T, AttrVariant>;

/// The value of an attribute, of one of the types of TensorFlow's AttrValue (except functions).
///
/// A class rather than an alias of the variant, so that the code to create, copy, compare and
/// destroy fourteen alternatives is compiled only once, not wherever an op is registered.
class AttrValue {
 public:
  AttrValue();
  template <AttrType T>
  AttrValue(T value);  // NOLINT: any of the types is a value
  template <std::integral T>
  requires(!AttrType<T>) AttrValue(T value) : AttrValue(static_cast<std::int64_t>(value)) {}
  AttrValue(const char* value);
  AttrValue(const AttrValue& other);
  AttrValue(AttrValue&& other) noexcept;
  AttrValue& operator=(const AttrValue& other);
  AttrValue& operator=(AttrValue&& other) noexcept;
  ~AttrValue();

  /// Returns the value, nullptr if it has another type.
  template <AttrType T>
  const T* get_if() const;
  template <AttrType T>
  T* get_if();
  /// Returns whether this is an empty list. A file does not record the element type of one.
  bool is_empty_list() const;
  /// For std::visit.
  const AttrVariant& held() const { return held_; }
  bool operator==(const AttrValue& other) const;

 private:
  AttrVariant held_;
};

/// Attributes by name, as a NodeDef holds them.
using AttrMap = std::map<std::string, AttrValue, std::less<>>;

}  // namespace towerflow::types

namespace towerflow {

/// Returns TensorFlow's name of the type of a value: "int", "list(type)".
const char* attr_type(const AttrValue& value);

/// Returns the value as text: "0.2", "\"SAME\"", "[1, 2, 2, 1]", "int64", "(?, 784)". Numbers can
/// be read back exactly.
std::string attr_text(const AttrValue& value);

/// Equal values have equal hashes. Only about the first MiB of a tensor is hashed.
std::size_t attr_hash(const AttrValue& value);

}  // namespace towerflow
