#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/array.h"

namespace towerflow::types {

/// The value of an attribute, of the types that TensorFlow's AttrValue has (functions aside).
using AttrValue =
    std::variant<bool, std::int64_t, float, std::string, DType, Shape, Array, std::vector<bool>,
                 std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>,
                 std::vector<DType>, std::vector<Shape>, std::vector<Array>>;

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
