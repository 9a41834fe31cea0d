#pragma once

#include <string>
#include <vector>

#include "core/graph/attrs.h"
#include "core/graph/tensor.h"

namespace towerflow {

struct OpDef;

}  // namespace towerflow

namespace towerflow::types {

class ControlFlowContext;

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
/// its creation, except that `Tensor::set_shape` refines the shapes of its outputs, and that a node
/// of a loop may get a back edge or another control input while the loop or its gradients are
/// built.
struct Node {
  Graph* graph = nullptr;
  /// Place on the tape; those of inputs and control inputs are smaller, except in a loop: a Merge
  /// reads the NextIteration that follows, and gradients make nodes of the forward loop wait.
  int id = -1;
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
  ControlFlowContext* context = nullptr;  ///< the branch or loop it belongs to
  bool fetchable = true;                  ///< false in a branch or loop
  bool feedable = true;                   ///< false in a loop
  Site site;
};

}  // namespace towerflow::types
