#pragma once

#include <vector>

#include "ops/operand_list.h"

namespace towerflow {

/// Returns the tensors of a list argument that must agree in dtype. The first tensor determines it;
/// values become constants named "<argument>_<i>". Throws TypeError if dtypes differ.
std::vector<Tensor> same_dtype_inputs(Graph& graph, const OperandList& list, const char* op,
                                      const char* argument, Site site);

/// Throws TypeError if tensors of the list differ in dtype.
void check_same_dtype(const OperandList& list, const char* op, const char* argument, Site site);

/// Returns the graph of the first tensor in the list, else the default graph.
Graph& graph_of(const OperandList& list);

/// Returns whether an optional operand was left out: its default in options is an empty Array.
inline bool is_missing(const Operand& operand) {
  return operand.array() != nullptr && operand.array()->empty();
}

/// Converts values to an int32 constant; returns an int32 or int64 tensor as it is. Throws
/// TypeError for other dtypes.
Tensor index_tensor(Graph& graph, const Operand& operand, const char* argument, const char* op);

/// Makes a constant vector of int32, or of int64 if a value does not fit.
Tensor index_constant(Graph& graph, const std::vector<std::int64_t>& values, const char* name,
                      Site site);

}  // namespace towerflow
