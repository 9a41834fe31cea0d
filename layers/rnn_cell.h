#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layers/layer.h"
#include "layers/structure.h"
#include "ops/variables/initializers.h"

namespace towerflow::nn::rnn_cell::types {

using layers::Scope;

/// What a cell returns: `const auto [output, state] = cell(x, before);`
struct CellResult {
  Tensor output;
  State state;
};

struct CellCallOptions {
  std::optional<Scope> scope{};  ///< where its variables are; default: its class's name
};

/// The state that handles of a cell share. A class of cells derives from it, overrides `build`,
/// `call_cell` and the sizes, and makes its weights by `add_weight` in `build`, or by get_variable
/// in `call_cell`.
class CellBody : public layers::LayerBody {
 public:
  /// `python_name` is the name of the class in Python, "BasicLSTMCell", by which zero states are
  /// called; `class_name` that of its scopes, "basic_lstm_cell".
  CellBody(std::string python_name, std::string class_name, layers::LayerOptions options,
           Site site);

  virtual StateSize state_size() const = 0;
  virtual std::int64_t output_size() const = 0;
  virtual State zero_state(const ScalarOperand& batch_size, DType dtype, Site site);
  /// Calls the cell in its scopes.
  virtual CellResult apply_cell(const Tensor& inputs, const State& state,
                                const std::optional<Scope>& scope, Site site);

 protected:
  virtual CellResult call_cell(const Tensor& inputs, const State& state, Site site) = 0;
  Tensor call(const Tensor& inputs, Site site) final;
  CellResult enter_cell(const Tensor& inputs, const State& state, const std::optional<Scope>& scope,
                        Site site);
  const std::string& python_name() const { return python_name_; }

 private:
  std::string python_name_;
};

/// A recurrent cell: a function of inputs and a state that returns an output and the next state. A
/// cheap handle; copies share the weights, as Python's references do. (tf.nn.rnn_cell.RNNCell)
class RNNCell {
 public:
  explicit RNNCell(std::shared_ptr<CellBody> body) : body_(std::move(body)) {}

  /// Calls the cell. The first call makes its weights.
  CellResult operator()(const Operand& inputs, const State& state, CellCallOptions options = {},
                        Site site = Site::current()) const;

  /// Returns the structure of its state and the numbers of columns.
  StateSize state_size() const { return body_->state_size(); }
  std::int64_t output_size() const { return body_->output_size(); }
  /// Returns zeros of the structure of its state, for a batch of this size.
  State zero_state(const ScalarOperand& batch_size, DType dtype,
                   Site site = Site::current()) const {
    return body_->zero_state(batch_size, dtype, site);
  }

  const std::string& name() const { return body_->name(); }
  bool built() const { return body_->built(); }
  /// Returns the weights, the trainable ones first. (variables, weights)
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const { return body_->trainable_weights(); }
  std::vector<Variable> non_trainable_variables() const { return body_->non_trainable_weights(); }
  const std::shared_ptr<CellBody>& body() const { return body_; }

 private:
  std::shared_ptr<CellBody> body_;
};

}  // namespace towerflow::nn::rnn_cell::types

/// Recurrent cells.
///
/// shapes   inputs [n, m]; states and output [n, units]
/// dtypes   float32, float64
/// grads    inputs, states, weights
/// errors   ValueError: another rank, m unknown, a dtype that is not floating, a state that is not
///          nested as the cell's (one tensor for an LSTMStateTuple: TypeError); variables that
///          exist without `reuse` or do not exist with it
/// source   tf.nn.rnn_cell
namespace towerflow::nn::rnn_cell {

struct BasicRNNCellOptions {
  layers::Activation activation{};  ///< default: tanh
  Reuse reuse = std::nullopt;
  std::string name{};  ///< default: "basic_rnn_cell"
  std::optional<DType> dtype{};
  bool trainable = true;
};

struct BasicLSTMCellOptions {
  double forget_bias = 1.0;         ///< added to the forget gate
  bool state_is_tuple = true;       ///< else the state is one tensor [n, 2 units]
  layers::Activation activation{};  ///< default: tanh
  Reuse reuse = std::nullopt;
  std::string name{};  ///< default: "basic_lstm_cell"
  std::optional<DType> dtype{};
  bool trainable = true;
};

struct LSTMCellOptions {
  bool use_peepholes = false;  ///< whether gates see the memory: w_f_diag, w_i_diag, w_o_diag
  std::optional<double> cell_clip{};         ///< the memory is clipped to [-cell_clip, cell_clip]
  std::optional<Initializer> initializer{};  ///< of all weights but the bias
  std::optional<int> num_proj{};             ///< number of columns to which the output is projected
  std::optional<double> proj_clip{};         ///< the projection is clipped
  std::optional<int> num_unit_shards{};      ///< number of parts of the kernel
  std::optional<int> num_proj_shards{};      ///< number of parts of the projection's kernel
  double forget_bias = 1.0;
  bool state_is_tuple = true;       ///< else the state is one tensor: c, then h
  layers::Activation activation{};  ///< default: tanh
  Reuse reuse = std::nullopt;
  std::string name{};  ///< default: "lstm_cell"
  std::optional<DType> dtype{};
  bool trainable = true;
};

struct GRUCellOptions {
  layers::Activation activation{};  ///< default: tanh
  Reuse reuse = std::nullopt;
  std::optional<Initializer> kernel_initializer{};
  std::optional<Initializer> bias_initializer{};  ///< default: ones for the gates, else zeros
  std::string name{};                             ///< default: "gru_cell"
  std::optional<DType> dtype{};
  bool trainable = true;
};

struct MultiRNNCellOptions {
  bool state_is_tuple = true;  ///< else the state is one tensor: those of the cells, joined
};

}  // namespace towerflow::nn::rnn_cell

namespace towerflow::nn::rnn_cell::types {

/// output = state = activation([inputs, state] * kernel + bias)
class BasicRNNCell : public RNNCell {
 public:
  explicit BasicRNNCell(int num_units, BasicRNNCellOptions options = {},
                        Site site = Site::current());
};

/// The LSTM of Zaremba et al. 2014.
class BasicLSTMCell : public RNNCell {
 public:
  explicit BasicLSTMCell(int num_units, BasicLSTMCellOptions options = {},
                         Site site = Site::current());
};

/// An LSTM with peepholes (Gers and Schmidhuber 2000), clipping and a projection (Sak et al. 2014).
class LSTMCell : public RNNCell {
 public:
  explicit LSTMCell(int num_units, LSTMCellOptions options = {}, Site site = Site::current());
};

/// The gated recurrent unit of Cho et al. 2014.
class GRUCell : public RNNCell {
 public:
  explicit GRUCell(int num_units, GRUCellOptions options = {}, Site site = Site::current());
};

/// Cells on top of each other: each gets the output of the one before.
/// errors   ValueError: no cells; without `state_is_tuple`, a cell whose state is a tuple
class MultiRNNCell : public RNNCell {
 public:
  explicit MultiRNNCell(const std::vector<RNNCell>& cells, MultiRNNCellOptions options = {},
                        Site site = Site::current());
};

}  // namespace towerflow::nn::rnn_cell::types
