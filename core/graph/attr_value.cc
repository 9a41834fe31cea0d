#include "core/graph/attr_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace towerflow {

AttrValue::AttrValue() = default;
AttrValue::AttrValue(const char* value) : held_(std::string(value)) {}
template <AttrType T>
AttrValue::AttrValue(T value) : held_(std::move(value)) {}
AttrValue::AttrValue(const AttrValue& other) = default;
AttrValue::AttrValue(AttrValue&& other) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue& other) = default;
AttrValue& AttrValue::operator=(AttrValue&& other) noexcept = default;
AttrValue::~AttrValue() = default;

template <AttrType T>
const T* AttrValue::get_if() const {
  return std::get_if<T>(&held_);
}
template <AttrType T>
T* AttrValue::get_if() {
  return std::get_if<T>(&held_);
}

#define TOWERFLOW_ATTR_TYPE(...)                                      \
  template AttrValue::AttrValue(__VA_ARGS__);                         \
  template const __VA_ARGS__* AttrValue::get_if<__VA_ARGS__>() const; \
  template __VA_ARGS__* AttrValue::get_if<__VA_ARGS__>()
TOWERFLOW_ATTR_TYPE(bool);
TOWERFLOW_ATTR_TYPE(std::int64_t);
TOWERFLOW_ATTR_TYPE(float);
TOWERFLOW_ATTR_TYPE(std::string);
TOWERFLOW_ATTR_TYPE(DType);
TOWERFLOW_ATTR_TYPE(Shape);
TOWERFLOW_ATTR_TYPE(Array);
TOWERFLOW_ATTR_TYPE(std::vector<bool>);
TOWERFLOW_ATTR_TYPE(std::vector<std::int64_t>);
TOWERFLOW_ATTR_TYPE(std::vector<float>);
TOWERFLOW_ATTR_TYPE(std::vector<std::string>);
TOWERFLOW_ATTR_TYPE(std::vector<DType>);
TOWERFLOW_ATTR_TYPE(std::vector<Shape>);
TOWERFLOW_ATTR_TYPE(std::vector<Array>);
#undef TOWERFLOW_ATTR_TYPE

bool AttrValue::operator==(const AttrValue& other) const { return held_ == other.held_; }

namespace {

constexpr std::size_t kHashedBytes = std::size_t{1} << 20;

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <class T>
std::string element_text(const T& value) {
  if constexpr (std::is_same_v<T, DType>)
    return dtype_name(value);
  else if constexpr (std::is_same_v<T, Shape> || std::is_same_v<T, Array>)
    return value.text();
  else if constexpr (std::is_same_v<T, std::string>)
    return fmt::format("{:?}", value);
  else
    return fmt::format("{}", value);
}

std::size_t hash_combine(std::size_t seed, std::size_t hash) {
  return seed ^ (hash + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

std::size_t element_hash(const Shape& shape) {
  std::size_t hash = shape.has_rank() ? shape.rank() + 1 : 0;
  for (const Dim& dim : shape.dims())
    hash = hash_combine(hash, std::hash<std::int64_t>{}(dim.size()));
  return hash;
}

std::size_t element_hash(const Array& array) {
  std::size_t hash =
      hash_combine(static_cast<std::size_t>(array.dtype()), element_hash(array.shape()));
  if (array.dtype() == DType::string) {
    const auto count = std::min<std::int64_t>(array.elements(), kHashedBytes / 64);
    for (std::int64_t i = 0; i < count; ++i) {
      hash = hash_combine(
          hash, std::hash<std::string>{}(static_cast<const std::string*>(array.raw())[i]));
    }
    return hash;
  }
  const std::string_view bytes(static_cast<const char*>(array.raw()),
                               std::min(array.bytes(), kHashedBytes));
  return hash_combine(hash, std::hash<std::string_view>{}(bytes));
}

template <class T>
std::size_t element_hash(const T& value) {
  return std::hash<T>{}(value);
}

}  // namespace

bool AttrValue::is_empty_list() const {
  return std::visit(
      []<class T>(const T& held) {
        if constexpr (kIsList<T>)
          return held.empty();
        else
          return false;
      },
      held_);
}

const char* attr_type(const AttrValue& value) {
  static constexpr const char* kNames[] = {
      "bool",         "int",        "float",       "string",      "type",
      "shape",        "tensor",     "list(bool)",  "list(int)",   "list(float)",
      "list(string)", "list(type)", "list(shape)", "list(tensor)"};
  static_assert(std::size(kNames) == std::variant_size_v<AttrVariant>);
  return kNames[value.held().index()];
}

std::string attr_text(const AttrValue& value) {
  return std::visit(
      []<class T>(const T& held) {
        if constexpr (kIsList<T>) {
          std::string text = "[";
          for (const typename T::value_type& item : held) {
            text += (text.size() > 1 ? ", " : "") + element_text(item);
          }
          return text + "]";
        } else {
          return element_text(held);
        }
      },
      value.held());
}

std::size_t attr_hash(const AttrValue& value) {
  const std::size_t hash = std::visit(
      []<class T>(const T& held) {
        if constexpr (kIsList<T>) {
          std::size_t all = held.size();
          for (const typename T::value_type& item : held)
            all = hash_combine(all, element_hash(item));
          return all;
        } else {
          return element_hash(held);
        }
      },
      value.held());
  return hash_combine(value.held().index(), hash);
}

}  // namespace towerflow
