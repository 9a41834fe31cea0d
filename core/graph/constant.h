#pragma once

#include <string>

#include "core/graph/array.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Attributes of op Const: a value known when the graph is built.
struct ConstAttrs {
  Array value;
  static constexpr auto fields = std::tuple{attr::required("value", &ConstAttrs::value)};
};

/// Appends a Const node; `name` follows the rules of NodeSpec::name.
Tensor make_constant(Graph& graph, Array value, const std::string& name, Site site);

/// Returns the OpDef of Const, which is defined here since every literal in a program becomes one.
OpDef const_op();

}  // namespace towerflow
