#include "layers/rnn_cell_wrappers.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "layers/md5.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "ops/nn/dropout.h"
#include "ops/random/random_ops.h"

namespace towerflow::nn::rnn_cell {
namespace {

class WrapperBody : public CellBody {
 public:
  WrapperBody(const char* python_name, const char* class_name, const RNNCell& cell,
              std::optional<DType> its_dtype, Site site)
      : CellBody(python_name, class_name, {.dtype = its_dtype}, site), cell_(cell) {}

  StateSize state_size() const override { return cell_.state_size(); }
  std::int64_t output_size() const override { return cell_.output_size(); }
  std::vector<Variable> trainable_weights() const override { return cell_.trainable_variables(); }
  std::vector<Variable> non_trainable_weights() const override {
    return cell_.non_trainable_variables();
  }

  State zero_state(const ScalarOperand& batch_size, DType its_dtype, Site site) override {
    const NameScope names(graph_of(batch_size), python_name() + "ZeroState", site);
    return cell_.zero_state(batch_size, its_dtype, site);
  }

 protected:
  CellResult call_cell(const Tensor& inputs, const State& state, Site site) override {
    return call_wrapped(inputs, state, std::nullopt, site);
  }

  CellResult call_wrapped(const Tensor& inputs, const State& state,
                          const std::optional<Scope>& scope, Site site) const {
    return cell_(Operand(inputs, site), state, {.scope = scope}, site);
  }

  RNNCell cell_;
};

/// A probability of keeping an element: a number or a tensor.
struct KeepProbability {
  double number = 1.0;
  std::optional<Tensor> tensor;

  bool drops() const { return tensor.has_value() || number < 1.0; }
  ScalarOperand operand(Site site) const {
    return tensor ? ScalarOperand(*tensor, site) : ScalarOperand(number, site);
  }
};

/// Looks at a probability as TensorFlow does, which makes a constant of a number.
KeepProbability keep_probability(const ScalarOperand& given, const char* argument, Site site) {
  const Tensor tensor = convert_to_tensor(given.at(site), {}, site);
  if (given.any_tensor() != nullptr) return {1.0, tensor};
  const Array value = given.array() != nullptr ? cast_elements(*given.array(), DType::float64)
                                               : to_array(*given.nested(), DType::float64);
  const double number = value.data<double>()[0];
  if (number >= 0.0 && number <= 1.0) return {number, std::nullopt};
  throw ValueError(
      fmt::format("Parameter {} must be between 0 and 1. Received {}", argument, number),
      {.site = site, .op = "DropoutWrapper"});
}

class DropoutWrapperBody final : public WrapperBody {
 public:
  DropoutWrapperBody(const RNNCell& cell, const DropoutWrapperOptions& options, Site site)
      : WrapperBody("DropoutWrapper", "dropout_wrapper", cell, options.dtype, site),
        variational_(options.variational_recurrent),
        seed_(options.seed) {
    {
      const NameScope names(get_default_graph(), "DropoutWrapperInit", site);
      input_ = keep_probability(options.input_keep_prob, "input_keep_prob", site);
      state_ = keep_probability(options.state_keep_prob, "state_keep_prob", site);
      output_ = keep_probability(options.output_keep_prob, "output_keep_prob", site);
    }
    if (variational_) make_noise(options, site);
  }

  CellResult apply_cell(const Tensor& inputs, const State& state, const std::optional<Scope>& scope,
                        Site site) override {
    Tensor seen = inputs;
    if (input_.drops()) seen = dropped(inputs, "input", 0, input_noise_, input_, site);
    CellResult result = call_wrapped(seen, state, scope, site);
    if (state_.drops()) {
      std::size_t index = 0;
      result.state = dropped_state(result.state, state_noise_, index, site);
    }
    if (output_.drops()) {
      result.output = dropped(result.output, "output", 0, output_noise_, output_, site);
    }
    return result;
  }

 private:
  std::optional<std::int64_t> derived_seed(const char* part, std::size_t index) const {
    if (!seed_) return std::nullopt;
    return layers::md5_prefix(fmt::format("{}{}_{}", *seed_, part, index)) & 0x7FFFFFFF;
  }

  void make_noise(const DropoutWrapperOptions& options, Site site) {
    const auto require = [&](bool there, const char* what) {
      if (there) return;
      throw ValueError(what, {.site = site, .op = "DropoutWrapper"});
    };
    require(options.dtype.has_value(), "When variational_recurrent=True, dtype must be provided");
    const auto noise = [&](std::int64_t size, const char* part, std::size_t index) {
      const Operand one(Nested({1}), site), columns(Nested({size}), site);
      const Tensor shape = concat({one, columns}, 0, {}, site);
      return random_uniform(Operand(shape, site),
                            {.dtype = *options.dtype, .seed = derived_seed(part, index)}, site);
    };
    if (input_.drops()) {
      require(options.input_size.has_value(),
              "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size "
              "must be provided");
      input_noise_ = noise(*options.input_size, "input", 0);
    }
    std::size_t index = 0;
    state_noise_ =
        state_size().map([&](std::int64_t size) { return noise(size, "state", index++); });
    output_noise_ = noise(output_size(), "output", 0);
  }

  Tensor dropped(const Tensor& value, const char* part, std::size_t index,
                 const std::optional<Tensor>& noise, const KeepProbability& keep, Site site) const {
    if (!variational_) {
      return nn::dropout(Operand(value, site), keep.operand(site),
                         {.seed = derived_seed(part, index)}, site);
    }
    const Tensor shifted = keep.operand(site) + Operand(*noise, site);
    const Tensor mask = floor(Operand(shifted, site), {}, site);
    const Tensor scaled = divide(Operand(value, site), keep.operand(site), {}, site);
    Tensor result = Operand(scaled, site) * Operand(mask, site);
    result.set_shape(value.shape(), site);
    return result;
  }

  /// Drops elements of all tensors of a state but the memory of LSTMs; `index` counts them.
  State dropped_state(const State& state, const std::optional<State>& noise, std::size_t& index,
                      Site site) const {
    if (state.is_leaf()) {
      const std::optional<Tensor> own = noise ? std::optional(noise->leaf(site)) : std::nullopt;
      return State(dropped(state.leaf(site), "state", index++, own, state_, site));
    }
    std::vector<State> parts;
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (state.kind() == StructureKind::lstm && i == 0) {
        parts.push_back(state[0]);
        ++index;
        continue;
      }
      const std::optional<State> own = noise ? std::optional((*noise)[i]) : std::nullopt;
      parts.push_back(dropped_state(state[i], own, index, site));
    }
    return State(state.kind(), std::move(parts));
  }

  bool variational_;
  std::optional<std::int64_t> seed_;
  KeepProbability input_, state_, output_;
  std::optional<Tensor> input_noise_, output_noise_;
  std::optional<State> state_noise_;
};

class ResidualWrapperBody final : public WrapperBody {
 public:
  ResidualWrapperBody(const RNNCell& cell, ResidualFunction residual, Site site)
      : WrapperBody("ResidualWrapper", "residual_wrapper", cell, std::nullopt, site),
        residual_(std::move(residual)) {}

  CellResult apply_cell(const Tensor& inputs, const State& state, const std::optional<Scope>& scope,
                        Site site) override {
    CellResult result = call_wrapped(inputs, state, scope, site);
    if (residual_) return {residual_(inputs, result.output), std::move(result.state)};
    if (!inputs.shape().compatible(result.output.shape())) {
      throw ValueError(fmt::format("Shapes {} and {} are incompatible", inputs.shape().text(),
                                   result.output.shape().text()),
                       {.site = site,
                        .op = name(),
                        .hint = "the cell needs as many units as its inputs have columns"});
    }
    return {Operand(inputs, site) + Operand(result.output, site), std::move(result.state)};
  }

 private:
  ResidualFunction residual_;
};

class DeviceWrapperBody final : public WrapperBody {
 public:
  DeviceWrapperBody(const RNNCell& cell, const DeviceOrFunction& device, Site site)
      : WrapperBody("DeviceWrapper", "device_wrapper", cell, std::nullopt, site),
        level_(device_level(device, site)) {}

  State zero_state(const ScalarOperand& batch_size, DType its_dtype, Site site) override {
    const NameScope names(graph_of(batch_size), "DeviceWrapperZeroState", site);
    const DeviceScope scope(graph_of(batch_size), level_, site);
    return cell_.zero_state(batch_size, its_dtype, site);
  }

  CellResult apply_cell(const Tensor& inputs, const State& state, const std::optional<Scope>& scope,
                        Site site) override {
    const DeviceScope device(get_default_graph(), level_, site);
    return call_wrapped(inputs, state, scope, site);
  }

 private:
  DeviceLevel level_;
};

}  // namespace
}  // namespace towerflow::nn::rnn_cell

namespace towerflow::nn::rnn_cell::types {

DropoutWrapper::DropoutWrapper(const RNNCell& cell, DropoutWrapperOptions options, Site site)
    : RNNCell(std::make_shared<DropoutWrapperBody>(cell, options, site)) {}

ResidualWrapper::ResidualWrapper(const RNNCell& cell, ResidualFunction residual_fn, Site site)
    : RNNCell(std::make_shared<ResidualWrapperBody>(cell, std::move(residual_fn), site)) {}

DeviceWrapper::DeviceWrapper(const RNNCell& cell, const DeviceOrFunction& device, Site site)
    : RNNCell(std::make_shared<DeviceWrapperBody>(cell, device, site)) {}

}  // namespace towerflow::nn::rnn_cell::types
