#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/operand.h"
#include "core/graph/scopes.h"

namespace towerflow {

/// The graph of the operand, or of the first of two, that is a tensor; else the default graph.
Graph& graph_of(const Operand& operand);
Graph& graph_of(const Operand& first, const Operand& second);

/// Makes the node of one op call as TensorFlow does: opens the op's name scope, converts operands
/// to tensors inside it (a constant for argument `y` of op `add` is called "add/y"), then adds the
/// node under the scope's own name.
class OpBuilder {
 public:
  /// `name` is the user's, empty for `default_name`; the graph is that of the first tensor among
  /// `operands`, else the default graph.
  OpBuilder(const char* op, const std::string& name, Site site,
            std::initializer_list<const Operand*> operands = {});
  /// An op whose default name is not its type: operator+ makes an AddV2 called "add".
  OpBuilder(const char* op, const std::string& name, const char* default_name, Site site,
            std::initializer_list<const Operand*> operands);

  /// Adds an input. Inputs with the same `type` must agree in dtype: the first fixes it, literals
  /// after it are converted, tensors of another dtype are a TypeError.
  OpBuilder& input(const Operand& operand, const char* argument, const char* type = nullptr);
  /// The same, for the ops whose Python function makes a constant of a value before it looks at the
  /// dtype: one that the dtype cannot hold leaves its constant behind, and its name used up.
  OpBuilder& eager_input(const Operand& operand, const char* argument, const char* type);
  /// Adds an input that must have `dtype`.
  OpBuilder& input(const Operand& operand, const char* argument, DType dtype);
  /// Adds an int32 input from literals, or an int32 / int64 tensor as it is.
  OpBuilder& index_input(const Operand& operand, const char* argument);
  /// Fixes the dtype of a `type` before its first input.
  OpBuilder& type(const char* type, DType dtype);
  OpBuilder& inputs(const std::vector<Tensor>& tensors, const char* argument);
  OpBuilder& attrs(Attrs attrs);
  OpBuilder& control_inputs(const std::vector<Operation>& operations);

  /// Adds the node; once.
  Operation build();
  Tensor output() { return build().output(0); }

  Graph& graph() { return *graph_; }
  const std::vector<Tensor>& tensors() const { return inputs_; }
  /// The open scope, "tower_0/conv1/Conv2D/".
  const std::string& scope() const { return scope_.name(); }

 private:
  const char* op_;
  Site site_;
  Graph* graph_;
  NameScope scope_;
  std::vector<Tensor> inputs_;
  std::vector<Node*> control_inputs_;
  /// A type that inputs share, once it is fixed.
  struct FixedType {
    std::string_view type;
    DType dtype = DType::invalid;
    const char* argument = "";  ///< which fixed it
  };
  std::vector<FixedType> types_;
  Attrs attrs_;
};

}  // namespace towerflow
