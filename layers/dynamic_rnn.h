#pragma once

#include <optional>

#include "layers/rnn_cell.h"
#include "ops/operand_list.h"

namespace towerflow::nn {

struct DynamicRnnOptions {
  std::optional<Operand> sequence_length{};        ///< [n], int32 or int64: of each example
  std::optional<rnn_cell::State> initial_state{};  ///< default: zeros of `dtype`
  std::optional<DType> dtype{};                    ///< needed without an initial state
  int parallel_iterations = 32;                    ///< recorded in the graph
  bool swap_memory = false;                        ///< recorded in the graph
  bool time_major = false;  ///< whether the first dimension is the time, the second the batch
  std::optional<layers::Scope> scope{};  ///< default: "rnn"
};

struct BidirectionalDynamicRnnOptions {
  std::optional<Operand> sequence_length{};
  std::optional<rnn_cell::State> initial_state_fw{};
  std::optional<rnn_cell::State> initial_state_bw{};
  std::optional<DType> dtype{};
  int parallel_iterations = 32;
  bool swap_memory = false;
  bool time_major = false;
  std::optional<layers::Scope> scope{};  ///< default: "bidirectional_rnn"
};

}  // namespace towerflow::nn

namespace towerflow::nn::types {

/// What dynamic_rnn returns: `const auto [outputs, state] = dynamic_rnn(..);`
struct DynamicRnnResult {
  Tensor outputs;         ///< of all steps
  rnn_cell::State state;  ///< after the last step of each sequence
};

/// Outputs of a cell that went forward and of one that went backward:
/// `tf::concat(outputs, 2)` joins them.
struct BidirectionalOutputs {
  Tensor fw, bw;
  operator OperandList() const { return OperandList({Operand(fw), Operand(bw)}); }  // NOLINT
};

/// Their last states.
struct BidirectionalStates {
  rnn_cell::State fw, bw;
};

/// What bidirectional_dynamic_rnn returns: `const auto [outputs, states] = ..;`
struct BidirectionalDynamicRnnResult {
  BidirectionalOutputs outputs;
  BidirectionalStates output_states;
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

/// Calls a cell for each step of a batch of sequences, in a loop of the graph: their number may
/// differ from run to run. The variables are in the variable scope "rnn/<cell>".
///
/// With `sequence_length`, the outputs of an example are zeros after the end of its sequence, and
/// its state stays what it was there.
///
///     const tf::Tensor x = tf::placeholder(tf::float32, {tf::None, tf::None, 8});
///     const auto [outputs, state] =
///         tf::nn::dynamic_rnn(tf::nn::rnn_cell::GRUCell(16), x, {.dtype = tf::float32});
///
/// shapes   inputs [n, time, m] -> outputs [n, time, cell.output_size()]; `time_major`: [time, n,
/// m]
///          -> [time, n, ..]; sequence_length [n]
/// dtypes   float32, float64
/// grads    inputs, the initial state, the cell's weights
/// errors   ValueError: rank below 3, an unknown m, neither initial state nor dtype, a
///          sequence_length that is not a vector, a state that is not nested as the cell's; at run
///          time InvalidArgumentError: a sequence_length that is not of the batch's size
/// source   tf.nn.dynamic_rnn
DynamicRnnResult dynamic_rnn(const rnn_cell::RNNCell& cell, const Operand& inputs,
                             DynamicRnnOptions options = {}, Site site = Site::current());

/// Calls one cell from the first step to the last and another one from the last to the first, or
/// from the end of each sequence.
///
/// shapes   inputs [n, time, m] -> outputs.fw [n, time, cell_fw.output_size()], outputs.bw likewise
/// dtypes   float32, float64
/// grads    as dynamic_rnn
/// errors   as dynamic_rnn
/// source   tf.nn.bidirectional_dynamic_rnn
BidirectionalDynamicRnnResult bidirectional_dynamic_rnn(const rnn_cell::RNNCell& cell_fw,
                                                        const rnn_cell::RNNCell& cell_bw,
                                                        const Operand& inputs,
                                                        BidirectionalDynamicRnnOptions options = {},
                                                        Site site = Site::current());

}  // namespace towerflow::nn
