#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/operand.h"
#include "core/graph/scopes.h"

namespace towerflow {

/// Returns the graph of the first operand that has a tensor, else the default graph.
Graph& graph_of(const Operand& operand);
Graph& graph_of(const Operand& first, const Operand& second);

/// Makes the node of one op call as TensorFlow does: opens the op's name scope, converts operands
/// to tensors inside it (a constant for argument `y` of op `add` is called "add/y"), then adds the
/// node under the scope's own name.
class OpBuilder {
 public:
  /// `name` is the user's, empty for the op's type; the graph is that of the first tensor among
  /// `operands`, else the default graph.
  OpBuilder(const char* op, const std::string& name, Site site,
            std::initializer_list<const Operand*> operands = {});
  /// For an op whose default name is not its type: operator+ makes an AddV2 called "add".
  OpBuilder(const char* op, const std::string& name, const char* default_name, Site site,
            std::initializer_list<const Operand*> operands);

  /// Adds an input. Inputs with the same `type` must agree in dtype: the first one determines it,
  /// later literals are converted, and tensors of another dtype throw TypeError.
  OpBuilder& input(const Operand& operand, const char* argument, const char* type = nullptr);
  /// Like `input`, for ops whose Python function makes a constant of a value before it checks the
  /// dtype: if the value does not fit the dtype, the constant remains and its name is used up.
  OpBuilder& eager_input(const Operand& operand, const char* argument, const char* type);
  /// Adds an input that must have `dtype`.
  OpBuilder& input(const Operand& operand, const char* argument, DType dtype);
  /// Adds an input of integers: int32 or int64 as given, with bools and empty lists as int32.
  OpBuilder& index_input(const Operand& operand, const char* argument);
  /// Sets the dtype of `type` before its first input.
  OpBuilder& type(const char* type, DType dtype);
  OpBuilder& inputs(const std::vector<Tensor>& tensors, const char* argument);
  OpBuilder& attrs(Attrs attrs);
  OpBuilder& control_inputs(const std::vector<Operation>& operations);

  /// Adds the node. May be called only once.
  Operation build();
  Tensor output() { return build().output(0); }

  Graph& graph() { return *graph_; }
  const std::vector<Tensor>& tensors() const { return inputs_; }
  /// Returns the open scope, "tower_0/conv1/Conv2D/".
  const std::string& scope() const { return scope_.name(); }

 private:
  const char* op_;
  Site site_;
  Graph* graph_;
  NameScope scope_;
  std::vector<Tensor> inputs_;
  std::vector<Node*> control_inputs_;
  /// The dtype of a type that inputs share, once it is determined.
  struct FixedType {
    std::string_view type;
    DType dtype = DType::invalid;
    const char* argument = "";  ///< the one that determined it
  };
  std::vector<FixedType> types_;
  Attrs attrs_;
};

}  // namespace towerflow
