#pragma once

#include "core/graph/attr_fields.h"

namespace towerflow::data::types {

enum class Compression { none, gzip, zlib };

}  // namespace towerflow::data::types

namespace towerflow {

template <>
inline constexpr std::array<const char*, 3> kAttrNames<data::Compression>{"", "GZIP", "ZLIB"};

/// An absent compression ("") means that it is detected for each file.
template <>
struct AttrConversion<std::optional<data::Compression>> {
  using One = AttrConversion<data::Compression>;
  using Value = std::string;
  static Value to(std::optional<data::Compression> given) { return given ? One::to(*given) : ""; }
  static std::optional<std::optional<data::Compression>> from(const Value& name) {
    if (name.empty()) return std::optional<data::Compression>();
    const auto known = One::from(name);
    if (!known) return std::nullopt;
    return known;
  }
};

}  // namespace towerflow
