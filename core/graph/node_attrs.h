#pragma once

#include "core/graph/node.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Returns whether the op of a node lists all arguments, results and attributes that the node has.
bool lists_attributes(const Node& node);

/// Returns all attributes of a node under TensorFlow's names: the fields of its struct, the dtypes
/// and counts of its arguments, and those for which the library supports only one value. Throws
/// UnimplementedError for an op that does not list its arguments or attributes.
AttrMap node_attributes(const Node& node);

/// Returns the attribute struct for a node described by a NodeDef. Throws ValueError for an
/// attribute that is missing, unknown or of another type, and for inputs that the signature does
/// not take; UnimplementedError for a value that the library does not support. Both name op, node
/// and attribute.
Attrs parse_attributes(const OpDef& op, const AttrMap& values, const std::string& node,
                       std::span<const Tensor> inputs);

}  // namespace towerflow
