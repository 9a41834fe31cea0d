#include "layers/rnn_cell.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "layers/rnn_cell_call.h"
#include "ops/array/concat.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_input.h"
#include "ops/array/slice.h"
#include "ops/array/split.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/clip.h"
#include "ops/math/matmul.h"
#include "ops/math/unary.h"
#include "ops/nn/bias_add.h"

namespace towerflow::nn::rnn_cell {
namespace {

using layers::Activation;

/// The product of two tensors side by side with a kernel, plus a bias.
Tensor joined_product(const Tensor& inputs, const Tensor& state, const Variable& kernel,
                      const Variable& bias, Site site) {
  const Tensor joined = concat({Operand(inputs, site), Operand(state, site)}, 1, {}, site);
  const Tensor product = matmul(Operand(joined, site), Operand(kernel, site), {}, site);
  return nn::bias_add(Operand(product, site), Operand(bias, site), {}, site);
}

Activation or_tanh(const Activation& given) {
  return given ? given
               : Activation(
                     static_cast<Tensor (*)(const Operand&, UnaryOptions, Site)>(&towerflow::tanh));
}

/// A cell that makes its weights in `build`.
class WeightedCellBody : public CellBody {
 public:
  WeightedCellBody(const char* python_name, const char* class_name, int units, Activation given,
                   layers::LayerOptions options, Site site)
      : CellBody(python_name, class_name, std::move(options), site),
        units_(units),
        activation_(or_tanh(given)) {
    input_spec.ndim = 2;
    if (dtype()) check_cell_dtype(*dtype(), name(), site);
  }

  std::int64_t output_size() const override { return units_; }

 protected:
  /// Returns the number of columns of the inputs. Throws ValueError if it is unknown.
  std::int64_t checked_depth(const Shape& shape, Site site) const {
    check_cell_dtype(*dtype(), name(), site);
    const Dim depth = shape.has_rank() ? shape[-1] : Dim(None);
    if (depth.known()) return depth.size();
    throw ValueError(
        fmt::format("Expected inputs.shape[-1] to be known, received shape: {}", shape.text()),
        {.site = site, .op = name(), .hint = "set the shape of the inputs"});
  }

  Variable bias_weight(const char* weight, std::int64_t size, Site site) {
    return add_weight(weight, {size}, {.initializer = zeros_initializer()}, site);
  }

  int units_;
  Activation activation_;
};

class BasicRNNCellBody final : public WeightedCellBody {
 public:
  BasicRNNCellBody(int units, const BasicRNNCellOptions& options, Site site)
      : WeightedCellBody("BasicRNNCell", "basic_rnn_cell", units, options.activation,
                         {.trainable = options.trainable,
                          .name = options.name,
                          .dtype = options.dtype,
                          .reuse = options.reuse},
                         site) {}

  StateSize state_size() const override { return StateSize(units_); }

 protected:
  void build(const Shape& shape, Site site) override {
    kernel_ = add_weight("kernel", {checked_depth(shape, site) + units_, units_}, {}, site);
    bias_ = bias_weight("bias", units_, site);
  }

  CellResult call_cell(const Tensor& inputs, const State& state, Site site) override {
    const Tensor sum =
        joined_product(inputs, one_tensor(state, name(), site), kernel_, bias_, site);
    const Tensor output = activation_(sum, site);
    return {output, State(output)};
  }

 private:
  Variable kernel_, bias_;
};

class BasicLSTMCellBody final : public WeightedCellBody {
 public:
  BasicLSTMCellBody(int units, const BasicLSTMCellOptions& options, Site site)
      : WeightedCellBody("BasicLSTMCell", "basic_lstm_cell", units, options.activation,
                         {.trainable = options.trainable,
                          .name = options.name,
                          .dtype = options.dtype,
                          .reuse = options.reuse},
                         site),
        forget_bias_(options.forget_bias),
        tuple_(options.state_is_tuple) {}

  StateSize state_size() const override {
    if (!tuple_) return StateSize(2 * units_);
    return StateSize(StructureKind::lstm, {StateSize(units_), StateSize(units_)});
  }

 protected:
  void build(const Shape& shape, Site site) override {
    const std::int64_t depth = checked_depth(shape, site);
    kernel_ = add_weight("kernel", {depth + units_, 4 * units_}, {}, site);
    bias_ = bias_weight("bias", 4 * units_, site);
  }

  CellResult call_cell(const Tensor& inputs, const State& state, Site site) override {
    const Tensor one = constant(Operand(1, site), {.dtype = DType::int32}, site);
    LSTMStateTuple before;
    if (tuple_) {
      before = lstm_pair(state, name(), site);
    } else {
      const std::vector<Tensor> halves =
          split(Operand(one_tensor(state, name(), site), site), Operand(2, site),
                ScalarOperand(one, site), {}, site);
      before = {halves[0], halves[1]};
    }
    const Tensor sum = joined_product(inputs, before.h, kernel_, bias_, site);
    // The input gate, the new input, the forget gate and the output gate.
    const std::vector<Tensor> gates =
        split(Operand(sum, site), Operand(4, site), ScalarOperand(one, site), {}, site);
    const Tensor bias = constant(Operand(forget_bias_, site), {.dtype = gates[2].dtype()}, site);
    const Tensor forget_sum = add(Operand(gates[2], site), Operand(bias, site), {}, site);
    const Tensor forget = sigmoid(Operand(forget_sum, site), {}, site);
    const Tensor kept = multiply(Operand(before.c, site), Operand(forget, site), {}, site);
    const Tensor open = sigmoid(Operand(gates[0], site), {}, site);
    const Tensor fresh = activation_(gates[1], site);
    const Tensor taken = multiply(Operand(open, site), Operand(fresh, site), {}, site);
    const Tensor c = add(Operand(kept, site), Operand(taken, site), {}, site);
    const Tensor shown = activation_(c, site);
    const Tensor out = sigmoid(Operand(gates[3], site), {}, site);
    const Tensor h = multiply(Operand(shown, site), Operand(out, site), {}, site);
    if (tuple_) return {h, State(LSTMStateTuple{c, h})};
    return {h, State(concat({Operand(c, site), Operand(h, site)}, 1, {}, site))};
  }

 private:
  double forget_bias_;
  bool tuple_;
  Variable kernel_, bias_;
};

class LSTMCellBody final : public WeightedCellBody {
 public:
  LSTMCellBody(int units, LSTMCellOptions options, Site site)
      : WeightedCellBody("LSTMCell", "lstm_cell", units, options.activation,
                         {.trainable = options.trainable,
                          .name = options.name,
                          .dtype = options.dtype,
                          .reuse = options.reuse},
                         site),
        options_(std::move(options)) {}

  std::int64_t output_size() const override { return options_.num_proj.value_or(units_); }

  StateSize state_size() const override {
    if (!options_.state_is_tuple) return StateSize(units_ + output_size());
    return StateSize(StructureKind::lstm, {StateSize(units_), StateSize(output_size())});
  }

 protected:
  void build(const Shape& shape, Site site) override {
    const std::int64_t depth = checked_depth(shape, site);
    kernel_ = weight("kernel", {depth + output_size(), 4 * units_}, options_.num_unit_shards, site);
    bias_ = bias_weight("bias", 4 * units_, site);
    if (options_.use_peepholes) {
      see_forget_ = weight("w_f_diag", {units_}, std::nullopt, site);
      see_open_ = weight("w_i_diag", {units_}, std::nullopt, site);
      see_out_ = weight("w_o_diag", {units_}, std::nullopt, site);
    }
    if (options_.num_proj) {
      projection_ =
          weight("projection/kernel", {units_, *options_.num_proj}, options_.num_proj_shards, site);
    }
  }

  CellResult call_cell(const Tensor& inputs, const State& state, Site site) override {
    const LSTMStateTuple before = parts_of(state, site);
    const Tensor sum = joined_product(inputs, before.h, kernel_, bias_, site);
    const std::vector<Tensor> gates = split(Operand(sum, site), Operand(4, site), 1, {}, site);
    const Operand memory(before.c, site);
    const Tensor biased = Operand(gates[2], site) + Operand(options_.forget_bias, site);
    const Tensor forget = gate(biased, see_forget_, before.c, site);
    const Tensor kept = Operand(forget, site) * memory;
    const Tensor open = gate(gates[0], see_open_, before.c, site);
    const Tensor fresh = activation_(gates[1], site);
    const Tensor taken = Operand(open, site) * Operand(fresh, site);
    const Tensor whole = Operand(kept, site) + Operand(taken, site);
    const Tensor c = clipped(whole, options_.cell_clip, site);
    const Tensor out = gate(gates[3], see_out_, c, site);
    const Tensor shown = activation_(c, site);
    Tensor h = Operand(out, site) * Operand(shown, site);
    if (options_.num_proj) {
      h = matmul(Operand(h, site), Operand(projection_, site), {}, site);
      h = clipped(h, options_.proj_clip, site);
    }
    if (options_.state_is_tuple) return {h, State(LSTMStateTuple{c, h})};
    return {h, State(concat({Operand(c, site), Operand(h, site)}, 1, {}, site))};
  }

 private:
  Variable weight(const char* its_name, const Shape& shape, const std::optional<int>& shards,
                  Site site) {
    return add_weight(its_name, shape,
                      {.initializer = options_.initializer,
                       .partitioner = shards ? fixed_size_partitioner(*shards) : Partitioner()},
                      site);
  }

  LSTMStateTuple parts_of(const State& state, Site site) const {
    if (options_.state_is_tuple) return lstm_pair(state, name(), site);
    const Operand joined(one_tensor(state, name(), site), site);
    const auto part = [&](std::int64_t first, std::int64_t columns) {
      return slice(joined, Operand(Nested({0, first}), site), Operand(Nested({-1, columns}), site),
                   {}, site);
    };
    const Tensor c = part(0, units_);
    return {c, part(units_, output_size())};
  }

  /// sigmoid(sum), or with peepholes sigmoid(sum + weights * memory)
  Tensor gate(const Tensor& sum, const Variable& weights, const Tensor& memory, Site site) const {
    if (!options_.use_peepholes) return sigmoid(Operand(sum, site), {}, site);
    const Tensor seen = Operand(weights, site) * Operand(memory, site);
    const Tensor all = Operand(sum, site) + Operand(seen, site);
    return sigmoid(Operand(all, site), {}, site);
  }

  static Tensor clipped(const Tensor& x, const std::optional<double>& limit, Site site) {
    if (!limit) return x;
    return clip_by_value(Operand(x, site), Operand(-*limit, site), Operand(*limit, site), {}, site);
  }

  LSTMCellOptions options_;
  Variable kernel_, bias_, see_forget_, see_open_, see_out_, projection_;
};

class GRUCellBody final : public WeightedCellBody {
 public:
  GRUCellBody(int units, GRUCellOptions options, Site site)
      : WeightedCellBody("GRUCell", "gru_cell", units, options.activation,
                         {.trainable = options.trainable,
                          .name = options.name,
                          .dtype = options.dtype,
                          .reuse = options.reuse},
                         site),
        options_(std::move(options)) {}

  StateSize state_size() const override { return StateSize(units_); }

 protected:
  void build(const Shape& shape, Site site) override {
    const std::int64_t rows = checked_depth(shape, site) + units_;
    const auto bias_initial = [&](double value) -> Initializer {
      if (options_.bias_initializer) return *options_.bias_initializer;
      return value == 0.0 ? zeros_initializer() : constant_initializer(value);
    };
    const std::optional<Initializer>& initial = options_.kernel_initializer;
    gate_kernel_ = add_weight("gates/kernel", {rows, 2 * units_}, {.initializer = initial}, site);
    gate_bias_ = add_weight("gates/bias", {2 * units_}, {.initializer = bias_initial(1.0)}, site);
    kernel_ = add_weight("candidate/kernel", {rows, units_}, {.initializer = initial}, site);
    bias_ = add_weight("candidate/bias", {units_}, {.initializer = bias_initial(0.0)}, site);
  }

  CellResult call_cell(const Tensor& inputs, const State& state, Site site) override {
    const Tensor before = one_tensor(state, name(), site);
    const Tensor sum = joined_product(inputs, before, gate_kernel_, gate_bias_, site);
    const Tensor value = sigmoid(Operand(sum, site), {}, site);
    const std::vector<Tensor> gates = split(Operand(value, site), Operand(2, site), 1, {}, site);
    const Operand reset(gates[0], site), update(gates[1], site), old(before, site);
    const Tensor seen = reset * old;
    const Tensor candidate = joined_product(inputs, seen, kernel_, bias_, site);
    const Tensor fresh = activation_(candidate, site);
    const Tensor kept = update * old;
    const Tensor open = Operand(1, site) - update;
    const Tensor taken = Operand(open, site) * Operand(fresh, site);
    const Tensor output = Operand(kept, site) + Operand(taken, site);
    return {output, State(output)};
  }

 private:
  GRUCellOptions options_;
  Variable gate_kernel_, gate_bias_, kernel_, bias_;
};

}  // namespace

void check_cell_dtype(DType dtype, const std::string& cell, Site site) {
  if (is_floating(dtype)) return;
  throw ValueError(fmt::format("RNN cell only supports floating point inputs, but received dtype: "
                               "{}",
                               dtype_name(dtype)),
                   {.site = site, .op = cell});
}

Tensor one_tensor(const State& state, const std::string& cell, Site site) {
  if (state.is_leaf()) return state.leaf(site);
  throw ValueError(fmt::format("the state of '{}' is one tensor, but received a tuple of {}", cell,
                               state.size()),
                   {.site = site, .op = cell});
}

LSTMStateTuple lstm_pair(const State& state, const std::string& cell, Site site) {
  if (state.size() == 2) return {state[0].leaf(site), state[1].leaf(site)};
  const ErrorDetail detail{
      .site = site, .op = cell, .hint = "pass what zero_state or the call before returned"};
  if (state.is_leaf()) {
    throw TypeError(
        fmt::format("the state of '{}' is an LSTMStateTuple, but received one tensor", cell),
        detail);
  }
  throw ValueError(fmt::format("the state of '{}' is an LSTMStateTuple, but received a tuple of {}",
                               cell, state.size()),
                   detail);
}

}  // namespace towerflow::nn::rnn_cell

namespace towerflow::nn::rnn_cell::types {

BasicRNNCell::BasicRNNCell(int num_units, BasicRNNCellOptions options, Site site)
    : RNNCell(std::make_shared<BasicRNNCellBody>(num_units, options, site)) {}

BasicLSTMCell::BasicLSTMCell(int num_units, BasicLSTMCellOptions options, Site site)
    : RNNCell(std::make_shared<BasicLSTMCellBody>(num_units, options, site)) {}

LSTMCell::LSTMCell(int num_units, LSTMCellOptions options, Site site)
    : RNNCell(std::make_shared<LSTMCellBody>(num_units, std::move(options), site)) {}

GRUCell::GRUCell(int num_units, GRUCellOptions options, Site site)
    : RNNCell(std::make_shared<GRUCellBody>(num_units, std::move(options), site)) {}

}  // namespace towerflow::nn::rnn_cell::types
