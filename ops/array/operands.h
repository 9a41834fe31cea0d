#pragma once

#include <vector>

#include "ops/operand_list.h"

namespace towerflow {

/// The tensors of a list argument that must agree in dtype: the first tensor fixes it, values are
/// converted to constants called "<argument>_<i>". Throws TypeError when dtypes differ.
std::vector<Tensor> same_dtype_inputs(Graph& graph, const OperandList& list, const char* op,
                                      const char* argument, Site site);

/// Throws TypeError when tensors of the list differ in dtype.
void check_same_dtype(const OperandList& list, const char* op, const char* argument, Site site);

/// The graph of the first tensor in the list, else the default graph.
Graph& graph_of(const OperandList& list);

/// Whether options leave an operand out, whose default there is an empty Array.
inline bool is_missing(const Operand& operand) {
  return operand.array() != nullptr && operand.array()->empty();
}

/// An int32 constant from values, an int32 or int64 tensor as it is; TypeError for another dtype.
Tensor index_tensor(Graph& graph, const Operand& operand, const char* argument, const char* op);

/// A constant vector of int32, or of int64 where a value does not fit.
Tensor index_constant(Graph& graph, const std::vector<std::int64_t>& values, const char* name,
                      Site site);

}  // namespace towerflow
