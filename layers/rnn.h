#pragma once

#include <optional>
#include <vector>

#include "layers/rnn_cell.h"
#include "ops/operand_list.h"

namespace towerflow::nn {

struct StaticRnnOptions {
  ByName by_name = ByName();
  std::optional<rnn_cell::State> initial_state{};  ///< default: zeros of `dtype`
  std::optional<DType> dtype{};                    ///< needed without an initial state
  std::optional<Operand> sequence_length{};        ///< [n], int32 or int64: of each example
  std::optional<layers::Scope> scope{};            ///< default: "rnn"
};

struct StaticBidirectionalRnnOptions {
  ByName by_name = ByName();
  std::optional<rnn_cell::State> initial_state_fw{};
  std::optional<rnn_cell::State> initial_state_bw{};
  std::optional<DType> dtype{};  ///< needed without initial states
  std::optional<Operand> sequence_length{};
  std::optional<layers::Scope> scope{};  ///< default: "bidirectional_rnn"
};

}  // namespace towerflow::nn

namespace towerflow::nn::types {

/// What static_rnn returns: `const auto [outputs, state] = static_rnn(..);`
struct RnnResult {
  std::vector<Tensor> outputs;  ///< of each step
  rnn_cell::State state;        ///< after the last step
};

/// What static_bidirectional_rnn returns.
struct BidirectionalRnnResult {
  std::vector<Tensor> outputs;  ///< of each step, those of both directions side by side
  rnn_cell::State output_state_fw;
  rnn_cell::State output_state_bw;
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

/// Calls a cell once for each input, passing on its state. The variables are in the variable scope
/// "rnn/<cell>" and shared by all steps.
///
/// With `sequence_length`, the outputs of an example are zeros after the end of its sequence, and
/// its state stays what it was there; steps after the longest sequence are not computed.
///
/// shapes   inputs: each [n, m], all the same n -> outputs [n, cell.output_size()]
/// dtypes   float32, float64
/// grads    inputs, the initial state, the cell's weights
/// errors   ValueError: no inputs, batches of different size, an unknown m, neither initial state
///          nor dtype, a sequence_length that is not a vector
/// source   tf.nn.static_rnn
RnnResult static_rnn(const rnn_cell::RNNCell& cell, const OperandList& inputs,
                     StaticRnnOptions options = {}, Site site = Site::current());
/// Options in place of the inputs are no list.
RnnResult static_rnn(const rnn_cell::RNNCell& cell, StaticRnnOptions options) = delete;

/// Calls one cell from the first input to the last and another one from the last to the first, and
/// concatenates their outputs. With `sequence_length` the other one begins at the end of each
/// sequence.
///
/// shapes   inputs: each [n, m] -> outputs [n, cell_fw.output_size() + cell_bw.output_size()]
/// dtypes   float32, float64
/// grads    as static_rnn
/// errors   as static_rnn
/// source   tf.nn.static_bidirectional_rnn
BidirectionalRnnResult static_bidirectional_rnn(const rnn_cell::RNNCell& cell_fw,
                                                const rnn_cell::RNNCell& cell_bw,
                                                const OperandList& inputs,
                                                StaticBidirectionalRnnOptions options = {},
                                                Site site = Site::current());
BidirectionalRnnResult static_bidirectional_rnn(const rnn_cell::RNNCell& cell_fw,
                                                const rnn_cell::RNNCell& cell_bw,
                                                StaticBidirectionalRnnOptions options) = delete;

}  // namespace towerflow::nn
