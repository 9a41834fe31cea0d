#pragma once

#include <string>
#include <vector>

#include "core/graph/attrs.h"
#include "core/graph/tensor.h"

namespace towerflow {

struct OpDef;

}  // namespace towerflow

namespace towerflow::types {

/// What is known statically about one output of a node.
struct OutputSpec {
  DType dtype = DType::invalid;
  Shape shape = Shape::unknown();
  bool is_ref = false;  ///< refers to a variable's storage

  bool operator==(const OutputSpec&) const = default;
};

/// Which part of a program a node belongs to.
enum class NodeRole {
  program,   ///< what the program itself builds
  gradient,  ///< made by `gradients` or by averaging gradients
  update,    ///< made by an optimizer's `apply_gradients`
};

/// One record on the tape. It holds no computed value, kernel or address, and does not change after
/// its creation, except that `Tensor::set_shape` refines the shapes of its outputs.
struct Node {
  Graph* graph = nullptr;
  int id = -1;  ///< place on the tape; those of inputs and control inputs are smaller
  const OpDef* op = nullptr;
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<Node*> control_inputs;
  Attrs attrs;
  std::string device;                          ///< as requested, in canonical spelling
  std::vector<std::string> colocation_groups;  ///< "loc:@w" for each node w it is placed with
  std::vector<OutputSpec> outputs;
  const std::string* variable_scope = nullptr;  ///< open at its creation; nullptr at the root
  /// The name under which its gradient is looked up, if set by `gradient_override_map`; else empty.
  std::string gradient_op_type;
  NodeRole role = NodeRole::program;
  Site site;
};

}  // namespace towerflow::types
