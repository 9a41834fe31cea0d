#pragma once

#include "core/graph/attr_value.h"

namespace towerflow {

namespace proto {
class AttrValue;
class TensorShapeProto;
}  // namespace proto

/// Writes an attribute as TensorFlow's protocol buffer.
void write_attr(const AttrValue& value, proto::AttrValue& proto);
/// Reads an attribute. Throws DataLossError if it is invalid or has a type that AttrValue lacks,
/// ResourceExhaustedError if a tensor is too large.
AttrValue read_attr(const proto::AttrValue& proto);

}  // namespace towerflow
