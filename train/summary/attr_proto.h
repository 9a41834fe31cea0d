#pragma once

#include "core/graph/attr_value.h"

namespace towerflow {

namespace proto {
class AttrValue;
class TensorShapeProto;
}  // namespace proto

/// An attribute as TensorFlow's protocol buffers have it.
void write_attr(const AttrValue& value, proto::AttrValue& proto);
/// Throws DataLossError for what is no attribute of a type that AttrValue has.
AttrValue read_attr(const proto::AttrValue& proto);

}  // namespace towerflow
