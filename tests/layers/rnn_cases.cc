// The calls of rnn_cases.py.
#include "tests/layers/cases.h"

namespace towerflow::testing {

std::vector<Tensor> all_of(const nn::RnnResult& result) {
  std::vector<Tensor> all = result.outputs;
  for (const Tensor& part : result.state.flatten()) all.push_back(part);
  return all;
}

std::vector<Tensor> all_of(const nn::BidirectionalRnnResult& result) {
  std::vector<Tensor> all = result.outputs;
  for (const Tensor& part : result.output_state_fw.flatten()) all.push_back(part);
  for (const Tensor& part : result.output_state_bw.flatten()) all.push_back(part);
  return all;
}

namespace {

using namespace nn::rnn_cell;
using In = const LayerInputs&;
using Out = std::vector<Tensor>;

LSTMStateTuple pair(In t) { return {t.c, t.h}; }
std::vector<Tensor> xyz(In t) { return {t.x, t.y, t.z}; }

/// Returns an output and all tensors of a state.
Out tensors_of(const CellResult& result) {
  Out all{result.output};
  for (const Tensor& part : result.state.flatten()) all.push_back(part);
  return all;
}

Out steps(const RNNCell& cell, In t) {
  const CellResult first = cell(t.x, cell.zero_state(2, float32));
  const CellResult second = cell(t.y, first.state);
  return joined({first.output}, tensors_of(second));
}

Out run(const RNNCell& cell, const std::vector<Tensor>& inputs) {
  return all_of(nn::static_rnn(cell, inputs, {.dtype = float32}));
}

void add_simple_cells(LayerCases& c) {
  c["BasicRNNCell"] = [](In t) { return tensors_of(BasicRNNCell(4)(t.x, t.h)); };
  c["BasicRNNCell options"] = [](In t) {
    return tensors_of(BasicRNNCell(4, {.activation = nn::relu, .name = "cell"})(t.x, t.h));
  };
  c["BasicRNNCell twice"] = [](In t) { return steps(BasicRNNCell(4), t); };
  c["BasicRNNCell float64"] = [](In t) { return tensors_of(BasicRNNCell(3)(t.d, t.d)); };
  c["BasicRNNCell int"] = [](In t) { return tensors_of(BasicRNNCell(3)(t.i, t.i)); };
  c["BasicRNNCell rank"] = [](In t) { return tensors_of(BasicRNNCell(4)(t.s, t.h)); };
  c["BasicRNNCell scope"] = [](In t) {
    return tensors_of(BasicRNNCell(4)(t.x, t.h, {.scope = "mine"}));
  };
  c["BasicRNNCell two"] = [](In t) {
    const Out first = tensors_of(BasicRNNCell(4)(t.x, t.h));
    return joined(first, tensors_of(BasicRNNCell(4)(t.y, t.h)));
  };
  c["BasicRNNCell reuse"] = [](In t) {
    const Out first = tensors_of(BasicRNNCell(4)(t.x, t.h));
    return joined(first, tensors_of(BasicRNNCell(4, {.reuse = true})(t.y, t.h)));
  };
  c["GRUCell"] = [](In t) { return tensors_of(GRUCell(4)(t.x, t.h)); };
  c["GRUCell options"] = [](In t) {
    return tensors_of(GRUCell(4, {.activation = nn::relu,
                                  .kernel_initializer = ones_initializer(),
                                  .bias_initializer = constant_initializer(0.5)})(t.x, t.h));
  };
  c["GRUCell twice"] = [](In t) { return steps(GRUCell(4), t); };
}

void add_lstm_cells(LayerCases& c) {
  c["BasicLSTMCell"] = [](In t) { return tensors_of(BasicLSTMCell(4)(t.x, pair(t))); };
  c["BasicLSTMCell options"] = [](In t) {
    return tensors_of(BasicLSTMCell(4, {.forget_bias = 0.5, .activation = nn::relu})(t.x, pair(t)));
  };
  c["BasicLSTMCell concatenated"] = [](In t) {
    return tensors_of(BasicLSTMCell(2, {.state_is_tuple = false})(t.x, t.h));
  };
  c["BasicLSTMCell twice"] = [](In t) { return steps(BasicLSTMCell(4), t); };
  c["BasicLSTMCell initializer"] = [](In t) {
    const auto scope = variable_scope("a", {.initializer = ones_initializer()});
    return tensors_of(BasicLSTMCell(4)(t.x, pair(t)));
  };
  c["LSTMCell"] = [](In t) { return tensors_of(LSTMCell(4)(t.x, pair(t))); };
  c["LSTMCell peepholes"] = [](In t) {
    return tensors_of(LSTMCell(4, {.use_peepholes = true})(t.x, pair(t)));
  };
  c["LSTMCell projection"] = [](In t) {
    return steps(LSTMCell(4, {.cell_clip = 0.3, .num_proj = 3, .proj_clip = 0.2}), t);
  };
  c["LSTMCell all"] = [](In t) {
    return steps(
        LSTMCell(4, {.use_peepholes = true,
                     .cell_clip = 0.4,
                     .initializer = random_uniform_initializer({.minval = -0.1, .maxval = 0.1}),
                     .num_proj = 2,
                     .forget_bias = 0.5,
                     .activation = sigmoid,
                     .name = "cell"}),
        t);
  };
  c["LSTMCell concatenated"] = [](In t) {
    return tensors_of(LSTMCell(2, {.state_is_tuple = false})(t.x, t.h));
  };
  c["LSTMCell concatenated projection"] = [](In t) {
    return tensors_of(LSTMCell(3, {.num_proj = 1, .state_is_tuple = false})(t.x, t.h));
  };
}

void add_multi_cells(LayerCases& c) {
  c["MultiRNNCell"] = [](In t) { return steps(MultiRNNCell({BasicLSTMCell(4), GRUCell(3)}), t); };
  c["MultiRNNCell shared"] = [](In t) {
    const GRUCell cell(3);
    return steps(MultiRNNCell({cell, cell}), t);
  };
  c["MultiRNNCell concatenated"] = [](In t) {
    return steps(MultiRNNCell({GRUCell(3), BasicLSTMCell(2, {.state_is_tuple = false})},
                              {.state_is_tuple = false}),
                 t);
  };
  c["MultiRNNCell mixed"] = [](In) -> Out {
    MultiRNNCell({BasicLSTMCell(4)}, {.state_is_tuple = false});
    return {};
  };
  c["MultiRNNCell none"] = [](In) -> Out {
    MultiRNNCell(std::vector<RNNCell>());
    return {};
  };
  c["MultiRNNCell variables"] = [](In t) {
    const MultiRNNCell cell({BasicLSTMCell(4), GRUCell(3)});
    const Out results = steps(cell, t);
    for (const Variable& v : cell.trainable_variables()) add_to_collection("ends", v);
    return results;
  };
  c["MultiRNNCell state"] = [](In t) {
    return tensors_of(MultiRNNCell({BasicLSTMCell(4), BasicLSTMCell(4)})(t.x, t.h));
  };
  c["zero_state"] = [](In) { return GRUCell(4).zero_state(2, float32).flatten(); };
  c["zero_state lstm"] = [](In) { return BasicLSTMCell(4).zero_state(2, float32).flatten(); };
  c["zero_state nested"] = [](In) {
    const MultiRNNCell inner(std::vector<RNNCell>{GRUCell(2)});
    return MultiRNNCell({BasicLSTMCell(4), inner}).zero_state(2, float32).flatten();
  };
  c["zero_state tensor"] = [](In t) {
    const Tensor batch = take_index(shape(t.u), 0);
    return GRUCell(4).zero_state(batch, float32).flatten();
  };
  c["zero_state float64"] = [](In) { return BasicLSTMCell(4).zero_state(3, float64).flatten(); };
}

void add_dropout_wrappers(LayerCases& c) {
  c["DropoutWrapper"] = [](In t) {
    return steps(
        DropoutWrapper(
            BasicLSTMCell(4),
            {.input_keep_prob = 0.5, .output_keep_prob = 0.6, .state_keep_prob = 0.7, .seed = 7}),
        t);
  };
  c["DropoutWrapper output"] = [](In t) {
    return steps(DropoutWrapper(GRUCell(4), {.output_keep_prob = 0.5}), t);
  };
  c["DropoutWrapper none"] = [](In t) { return steps(DropoutWrapper(GRUCell(4)), t); };
  c["DropoutWrapper tensor"] = [](In t) {
    const Tensor keep = placeholder_with_default(0.5, Shape{});
    return tensors_of(DropoutWrapper(GRUCell(4), {.input_keep_prob = keep, .seed = 3})(t.x, t.h));
  };
  c["DropoutWrapper range"] = [](In) -> Out {
    DropoutWrapper(BasicLSTMCell(4), {.input_keep_prob = 1.5});
    return {};
  };
  c["DropoutWrapper variational"] = [](In t) {
    return steps(DropoutWrapper(BasicLSTMCell(4), {.input_keep_prob = 0.5,
                                                   .output_keep_prob = 0.6,
                                                   .state_keep_prob = 0.7,
                                                   .variational_recurrent = true,
                                                   .input_size = 3,
                                                   .dtype = float32,
                                                   .seed = 7}),
                 t);
  };
  c["DropoutWrapper variational dtype"] = [](In) -> Out {
    DropoutWrapper(BasicLSTMCell(4),
                   {.input_keep_prob = 0.5, .variational_recurrent = true, .input_size = 3});
    return {};
  };
  c["DropoutWrapper variational size"] = [](In) -> Out {
    DropoutWrapper(BasicLSTMCell(4),
                   {.input_keep_prob = 0.5, .variational_recurrent = true, .dtype = float32});
    return {};
  };
}

void add_wrappers(LayerCases& c) {
  c["ResidualWrapper"] = [](In t) { return steps(ResidualWrapper(GRUCell(3)), t); };
  c["ResidualWrapper shapes"] = [](In t) { return steps(ResidualWrapper(GRUCell(4)), t); };
  c["ResidualWrapper function"] = [](In t) {
    const auto sum = [](const Tensor& in, const Tensor& out) {
      const Tensor total = reduce_sum(in);
      return out + total;
    };
    return steps(ResidualWrapper(GRUCell(4), sum), t);
  };
  c["DeviceWrapper"] = [](In t) { return steps(DeviceWrapper(GRUCell(4), "/cpu:0"), t); };
  c["wrappers in MultiRNNCell"] = [](In t) {
    const DropoutWrapper dropped(BasicLSTMCell(3), {.output_keep_prob = 0.5, .seed = 1});
    return run(MultiRNNCell({dropped, ResidualWrapper(GRUCell(3))}), xyz(t));
  };
}

void add_static_rnn(LayerCases& c) {
  c["static_rnn"] = [](In t) { return run(BasicRNNCell(4), xyz(t)); };
  c["static_rnn lstm"] = [](In t) { return run(BasicLSTMCell(4), xyz(t)); };
  c["static_rnn state"] = [](In t) {
    return all_of(nn::static_rnn(BasicLSTMCell(4), xyz(t), {.initial_state = pair(t)}));
  };
  c["static_rnn scope"] = [](In t) {
    return all_of(nn::static_rnn(GRUCell(4), xyz(t), {.dtype = float32, .scope = "mine"}));
  };
  c["static_rnn twice"] = [](In t) {
    const Out first = all_of(nn::static_rnn(GRUCell(4), xyz(t), {.dtype = float32, .scope = "a"}));
    return joined(first,
                  all_of(nn::static_rnn(GRUCell(4), xyz(t), {.dtype = float32, .scope = "b"})));
  };
  c["static_rnn same cell"] = [](In t) {
    const GRUCell cell(4);
    const Out first = run(cell, xyz(t));
    return joined(first, run(cell, xyz(t)));
  };
  c["static_rnn same scope"] = [](In t) {
    const Out first = run(GRUCell(4), xyz(t));
    return joined(first, run(GRUCell(4), xyz(t)));
  };
  c["static_rnn multi"] = [](In t) {
    return run(MultiRNNCell({BasicLSTMCell(4), LSTMCell(3)}), xyz(t));
  };
  c["static_rnn unknown batch"] = [](In t) { return run(BasicLSTMCell(4), {t.u, t.u}); };
  c["static_rnn no state"] = [](In t) { return all_of(nn::static_rnn(BasicLSTMCell(4), xyz(t))); };
  c["static_rnn none"] = [](In) { return run(BasicLSTMCell(4), {}); };
  c["static_rnn batches"] = [](In t) { return run(BasicLSTMCell(4), {t.x, zeros({4, 3})}); };
  c["static_rnn input unknown"] = [](In) {
    return run(BasicLSTMCell(4), {placeholder(float32, {.shape = {2, None}})});
  };
  c["static_bidirectional_rnn"] = [](In t) {
    return all_of(
        nn::static_bidirectional_rnn(BasicLSTMCell(4), GRUCell(3), xyz(t), {.dtype = float32}));
  };
  c["static_bidirectional_rnn scope"] = [](In t) {
    return all_of(nn::static_bidirectional_rnn(
        BasicLSTMCell(4), BasicLSTMCell(4), xyz(t),
        {.initial_state_fw = pair(t), .initial_state_bw = pair(t), .scope = "both"}));
  };
}

}  // namespace

LayerCases rnn_cases() {
  LayerCases cases;
  add_simple_cells(cases);
  add_lstm_cells(cases);
  add_multi_cells(cases);
  add_dropout_wrappers(cases);
  add_wrappers(cases);
  add_static_rnn(cases);
  add_rnn_cases_by_length(cases);
  add_dynamic_rnn_cases(cases);
  return cases;
}

}  // namespace towerflow::testing
