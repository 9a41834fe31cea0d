#pragma once

#include <string>

#include "layers/rnn_cell.h"

namespace towerflow::nn::rnn_cell {

/// Throws ValueError unless the dtype is floating.
void check_cell_dtype(DType dtype, const std::string& cell, Site site);

/// Returns the tensor of a state that is one. Throws a ValueError that names the cell for a tuple.
Tensor one_tensor(const State& state, const std::string& cell, Site site);

/// Returns the pair that the state of an LSTM is. Throws an error that names the cell: TypeError
/// for one tensor, ValueError for another tuple.
LSTMStateTuple lstm_pair(const State& state, const std::string& cell, Site site);

/// Returns the shape [batch_size, row..] as a tensor.
Tensor batch_shape(const ScalarOperand& batch_size, const Shape& row, Site site);
Tensor batch_shape(const ScalarOperand& batch_size, const Tensor& row, Site site);

/// Adds the nodes that TensorFlow adds to find the static shape [sizes.., columns]: a vector of the
/// sizes if all are known, and one of the columns.
void repeat_size_vectors(const std::vector<Dim>& sizes, std::int64_t columns, Site site);

/// Returns zeros of the shapes [batch_size, size].
State zero_state_tensors(const StateSize& sizes, const ScalarOperand& batch_size, DType dtype,
                         Site site);

}  // namespace towerflow::nn::rnn_cell
