#pragma once

#include <functional>
#include <optional>
#include <string>

#include "layers/rnn_cell.h"

/// Cells around another cell: sizes, zero states and weights are those of the cell inside.
///
/// source   tf.nn.rnn_cell.DropoutWrapper, ..
namespace towerflow::nn::rnn_cell {

struct DropoutWrapperOptions {
  ScalarOperand input_keep_prob = 1.0;  ///< numbers in [0, 1], or scalar tensors
  ScalarOperand output_keep_prob = 1.0;
  ScalarOperand state_keep_prob = 1.0;  ///< of an LSTMStateTuple only h is dropped
  /// Whether all steps, and all examples, drop the same elements (Gal and Ghahramani 2016).
  bool variational_recurrent = false;
  std::optional<std::int64_t> input_size{};  ///< needed then if inputs are dropped
  std::optional<DType> dtype{};              ///< needed then
  std::optional<std::int64_t> seed{};  ///< those of inputs, outputs and states are derived from it
};

/// Returns the outputs of a layer from inputs and the outputs of its cell.
using ResidualFunction = std::function<Tensor(const Tensor& inputs, const Tensor& outputs)>;

}  // namespace towerflow::nn::rnn_cell

namespace towerflow::nn::rnn_cell::types {

/// Drops elements of inputs, outputs and states as nn::dropout does.
/// errors   ValueError: a probability outside [0, 1], a variational one without dtype or size
class DropoutWrapper : public RNNCell {
 public:
  explicit DropoutWrapper(const RNNCell& cell, DropoutWrapperOptions options = {},
                          Site site = Site::current());
};

/// Adds the inputs to the outputs.
/// errors   ValueError of the call: their shapes differ
class ResidualWrapper : public RNNCell {
 public:
  explicit ResidualWrapper(const RNNCell& cell, ResidualFunction residual_fn = {},
                           Site site = Site::current());
};

/// Runs a cell on a device.
class DeviceWrapper : public RNNCell {
 public:
  DeviceWrapper(const RNNCell& cell, const DeviceOrFunction& device, Site site = Site::current());
  DeviceWrapper(const RNNCell& cell, const char* device, Site site = Site::current())
      : DeviceWrapper(cell, DeviceOrFunction(std::string(device)), site) {}
};

}  // namespace towerflow::nn::rnn_cell::types
