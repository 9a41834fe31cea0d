#pragma once

#include <string>
#include <vector>

#include "core/graph/attrs.h"
#include "core/graph/tensor.h"

namespace towerflow {

struct OpDef;

}  // namespace towerflow

namespace towerflow::types {

/// What is known of one output of a node before anything runs.
struct OutputSpec {
  DType dtype = DType::invalid;
  Shape shape = Shape::unknown();
  bool is_ref = false;  ///< refers to a variable's storage

  bool operator==(const OutputSpec&) const = default;
};

/// Which part of a program a node belongs to.
enum class NodeRole {
  program,   ///< what the program itself builds
  gradient,  ///< made by `gradients` and what averages them
  update,    ///< made by an optimizer's `apply_gradients`
};

/// One record on the tape. It never holds a value, a kernel or an address, and does not change once
/// it is made, but for an output shape made more precise by `Tensor::set_shape`.
struct Node {
  Graph* graph = nullptr;
  int id = -1;  ///< place on the tape; inputs and control inputs have smaller ones
  const OpDef* op = nullptr;
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<Node*> control_inputs;
  Attrs attrs;
  std::string device;                          ///< as requested, in canonical spelling
  std::vector<std::string> colocation_groups;  ///< names of the nodes it must be placed with
  std::vector<OutputSpec> outputs;
  const std::string* variable_scope = nullptr;  ///< open when it was made; nullptr at the root
  /// The name under which its gradient is looked up, where `gradient_override_map` gave it one.
  std::string gradient_op_type;
  NodeRole role = NodeRole::program;
  Site site;
};

}  // namespace towerflow::types
