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

/// The value of an attribute, of the types that TensorFlow's AttrValue has (functions aside).
///
/// A class of its own, not the variant's bare name, so that the code which makes, copies, compares
/// and destroys fourteen alternatives is compiled once and not wherever an op is registered.
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

  /// nullptr where the value is of another type.
  template <AttrType T>
  const T* get_if() const;
  template <AttrType T>
  T* get_if();
  /// A file does not say what an empty list is of.
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

/// TensorFlow's name of the type that a value has: "int", "list(type)".
const char* attr_type(const AttrValue& value);

/// "0.2", "\"SAME\"", "[1, 2, 2, 1]", "int64", "(?, 784)". A number is read back as it was.
std::string attr_text(const AttrValue& value);

/// Equal values have equal hashes. Of a tensor no more than its first MiB counts.
std::size_t attr_hash(const AttrValue& value);

}  // namespace towerflow
