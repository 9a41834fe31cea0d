#pragma once

#include "core/graph/node.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Whether the op of a node lists arguments, results and attributes as far as the node has them.
bool lists_attributes(const Node& node);

/// All attributes of a node under TensorFlow's names: the fields of its struct, the dtypes and
/// numbers of its arguments, and those of which the library does one value. Throws
/// UnimplementedError for an op that does not list its arguments or attributes.
AttrMap node_attributes(const Node& node);

/// The attribute struct of a node that a NodeDef describes. Throws ValueError for an attribute that
/// is missing, unknown or of another type, and for inputs that the signature does not take;
/// UnimplementedError for a value that the library does not compute. Both name op, node and
/// attribute.
Attrs parse_attributes(const OpDef& op, const AttrMap& values, const std::string& node,
                       std::span<const Tensor> inputs);

}  // namespace towerflow
