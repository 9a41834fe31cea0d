// The calls of rnn_cases.py with sequence_length or of dynamic_rnn.
#include "tests/layers/cases.h"

namespace towerflow::testing {
namespace {

using namespace nn::rnn_cell;
using nn::DynamicRnnOptions;
using In = const LayerInputs&;
using Out = std::vector<Tensor>;

LSTMStateTuple memory(In t) { return {t.c, t.h}; }

Out with_state(Out outputs, const State& state) {
  for (const Tensor& part : state.flatten()) outputs.push_back(part);
  return outputs;
}

Out dynamic(const RNNCell& cell, const Operand& inputs, DynamicRnnOptions options = {}) {
  options.dtype = float32;
  const auto [outputs, state] = nn::dynamic_rnn(cell, inputs, std::move(options));
  return with_state({outputs}, state);
}

Out by_length(const RNNCell& cell, In t, const Operand& lengths) {
  const std::vector<Tensor> inputs{t.x, t.y, t.z};
  return all_of(nn::static_rnn(cell, inputs, {.dtype = float32, .sequence_length = lengths}));
}

Out both_ways(In t, nn::BidirectionalDynamicRnnOptions options = {}) {
  options.dtype = float32;
  const auto [outputs, states] =
      nn::bidirectional_dynamic_rnn(BasicLSTMCell(4), GRUCell(3), t.s, std::move(options));
  return with_state(with_state({outputs.fw, outputs.bw}, states.fw), states.bw);
}

Tensor unknown(In t, const Shape& shape) { return placeholder_with_default(t.s, shape); }

/// Appends a sum whose shape is known, so that there are gradients.
Out total(Out results) {
  std::vector<Tensor> sums;
  for (const Tensor& result : results) sums.push_back(reduce_sum(result));
  results.push_back(add_n(sums));
  return results;
}

void add_calls(LayerCases& c) {
  c["dynamic_rnn"] = [](In t) { return dynamic(BasicRNNCell(4), t.s); };
  c["dynamic_rnn lstm"] = [](In t) { return dynamic(BasicLSTMCell(4), t.s); };
  c["dynamic_rnn state"] = [](In t) {
    const auto [outputs, state] =
        nn::dynamic_rnn(BasicLSTMCell(4), t.s, {.initial_state = memory(t)});
    return with_state({outputs}, state);
  };
  c["dynamic_rnn scope"] = [](In t) { return dynamic(GRUCell(4), t.s, {.scope = "mine"}); };
  c["dynamic_rnn in scopes"] = [](In t) {
    const auto scope = variable_scope("a");
    return dynamic(GRUCell(4), t.s);
  };
  c["dynamic_rnn time_major"] = [](In t) { return dynamic(GRUCell(4), t.s, {.time_major = true}); };
  c["dynamic_rnn loop options"] = [](In t) {
    return dynamic(GRUCell(4), t.s, {.parallel_iterations = 3, .swap_memory = true});
  };
  c["dynamic_rnn multi"] = [](In t) {
    return dynamic(MultiRNNCell({BasicLSTMCell(4), GRUCell(3)}), t.s);
  };
  c["dynamic_rnn projection"] = [](In t) {
    return dynamic(LSTMCell(4, {.use_peepholes = true, .num_proj = 3}), t.s);
  };
  c["dynamic_rnn concatenated"] = [](In t) {
    return dynamic(BasicLSTMCell(2, {.state_is_tuple = false}), t.s);
  };
  c["dynamic_rnn wrappers"] = [](In t) {
    const DropoutWrapper dropped(
        BasicLSTMCell(3),
        {.output_keep_prob = 0.5, .variational_recurrent = true, .dtype = float32, .seed = 1});
    return dynamic(MultiRNNCell({dropped, ResidualWrapper(GRUCell(3))}), t.s);
  };
  c["dynamic_rnn float64"] = [](In t) {
    const Tensor steps = expand_dims(t.d, 1);
    const auto [outputs, state] = nn::dynamic_rnn(BasicLSTMCell(4), steps, {.dtype = float64});
    return with_state({outputs}, state);
  };
  c["dynamic_rnn unknown"] = [](In t) {
    return total(dynamic(BasicLSTMCell(4), unknown(t, {None, None, 3})));
  };
  c["dynamic_rnn unknown time"] = [](In t) {
    return total(dynamic(GRUCell(4), unknown(t, {2, None, 3})));
  };
  c["dynamic_rnn same cell"] = [](In t) {
    const GRUCell cell(4);
    const Out first = dynamic(cell, t.s);
    return joined(first, dynamic(cell, t.s));
  };
  c["dynamic_rnn same scope"] = [](In t) {
    const Out first = dynamic(GRUCell(4), t.s);
    return joined(first, dynamic(GRUCell(4), t.s));
  };
  c["dynamic_rnn reuse"] = [](In t) {
    const Out first = dynamic(GRUCell(4), t.s);
    const auto scope = variable_scope("", {.reuse = true});
    return joined(first, dynamic(GRUCell(4), t.s));
  };
  c["dynamic_rnn in cond"] = [](In t) -> Out {
    return {cond(
        t.b, [&] { return dynamic(GRUCell(4), t.s)[1]; }, [&] { return t.h; })};
  };
  c["dynamic_rnn in loop"] = [](In t) -> Out {
    const auto [i, h] =
        while_loop([](Tensor k, Tensor) { return k < 2; },
                   [&](Tensor k, Tensor before) {
                     const Tensor later = k + 1;
                     const auto after = nn::dynamic_rnn(GRUCell(4), t.s, {.initial_state = before});
                     return std::tuple(later, after.state.leaf());
                   },
                   std::tuple(0, t.h));
    return {i, h};
  };
}

void add_calls_by_length(LayerCases& c) {
  c["dynamic_rnn lengths"] = [](In t) {
    return dynamic(GRUCell(4), t.s, {.sequence_length = t.l});
  };
  c["dynamic_rnn lengths list"] = [](In t) {
    return dynamic(BasicLSTMCell(4), t.s, {.sequence_length = {{3, 5}}});
  };
  c["dynamic_rnn lengths short"] = [](In t) {
    return dynamic(GRUCell(4), t.s, {.sequence_length = constant({0, 2})});
  };
  c["dynamic_rnn lengths zero"] = [](In t) {
    return dynamic(GRUCell(4), t.s, {.sequence_length = constant({0, 0})});
  };
  c["dynamic_rnn lengths state"] = [](In t) {
    const auto [outputs, state] = nn::dynamic_rnn(
        BasicLSTMCell(4), t.s, {.sequence_length = t.l, .initial_state = memory(t)});
    return with_state({outputs}, state);
  };
  c["dynamic_rnn lengths time_major"] = [](In t) {
    return dynamic(GRUCell(4), t.s, {.sequence_length = {{2, 1, 0, 2, 1}}, .time_major = true});
  };
  c["dynamic_rnn lengths multi"] = [](In t) {
    return dynamic(MultiRNNCell({BasicLSTMCell(4), GRUCell(3)}), t.s,
                   {.sequence_length = {{5, 2}}});
  };
  c["dynamic_rnn lengths unknown"] = [](In t) {
    return total(dynamic(BasicLSTMCell(4), unknown(t, {None, None, 3}), {.sequence_length = t.l}));
  };
}

void add_dynamic_rnn_errors(LayerCases& c) {
  c["dynamic_rnn no state"] = [](In t) -> Out {
    return {nn::dynamic_rnn(BasicLSTMCell(4), t.s).outputs};
  };
  c["dynamic_rnn rank"] = [](In t) { return dynamic(BasicLSTMCell(4), t.x); };
  c["dynamic_rnn vector"] = [](In t) {
    return dynamic(BasicLSTMCell(4), t.l, {.time_major = true});
  };
  c["dynamic_rnn unknown rank"] = [](In t) { return dynamic(BasicLSTMCell(4), t.q); };
  c["dynamic_rnn unknown depth"] = [](In t) {
    return dynamic(BasicLSTMCell(4), unknown(t, {2, 5, None}));
  };
  c["dynamic_rnn lengths matrix"] = [](In t) {
    return dynamic(BasicLSTMCell(4), t.s, {.sequence_length = t.i});
  };
  c["dynamic_rnn int"] = [](In t) { return dynamic(BasicLSTMCell(4), expand_dims(t.i, 1)); };
}

void add_bidirectional(LayerCases& c) {
  c["bidirectional_dynamic_rnn"] = [](In t) { return both_ways(t); };
  c["bidirectional_dynamic_rnn lengths"] = [](In t) {
    return both_ways(t, {.sequence_length = t.l});
  };
  c["bidirectional_dynamic_rnn time_major"] = [](In t) {
    return both_ways(t, {.time_major = true, .scope = "both"});
  };
  c["bidirectional_dynamic_rnn joined"] = [](In t) -> Out {
    const auto [outputs, states] = nn::bidirectional_dynamic_rnn(
        BasicLSTMCell(4), GRUCell(3), t.s, {.sequence_length = {{4, 2}}, .dtype = float32});
    return {concat(outputs, 2)};
  };
}

struct RawCase {
  Tensor lengths;
  std::optional<Tensor> first_emit{};
  std::function<std::optional<Tensor>(const Tensor&)> emit = [](const Tensor& output) {
    return std::optional(output);
  };
  std::optional<Tensor> count{};
};

/// Reads the steps of an array; `count` is the first loop state.
Out raw(In t, const RNNCell& cell, const RawCase& given) {
  const Tensor turned = transpose(t.s, {1, 0, 2});
  const TensorArray steps = TensorArray(float32, {.size = 5}).unstack(turned);
  const auto loop_fn = [&](const Tensor& time, const std::optional<Tensor>& output,
                           const std::optional<State>& state, const std::optional<Tensor>& seen) {
    std::optional<State> next = state;
    std::optional<Tensor> emitted = given.first_emit, after = given.count;
    if (output) {
      emitted = given.emit(*output);
      if (given.count) {
        const Tensor sum = reduce_sum(*output);
        after = *seen + sum;
      }
    } else {
      next = cell.zero_state(2, float32);
    }
    const Tensor finished = time >= given.lengths;
    const Tensor all = reduce_all(finished);
    const Tensor step = cond(
        all,
        [] {
          return zeros({2, 3});
        },
        [&] { return steps.read(time); });
    return nn::RawRnnStep<>{finished, step, *next, emitted, after};
  };
  const auto found = nn::raw_rnn(cell, loop_fn);
  Out results = with_state({found.emit_ta.stack()}, found.state);
  if (found.loop_state) results.push_back(*found.loop_state);
  return total(results);
}

void add_raw_rnn(LayerCases& c) {
  c["raw_rnn"] = [](In t) { return raw(t, GRUCell(4), {constant({3, 5})}); };
  c["raw_rnn lstm"] = [](In t) { return raw(t, BasicLSTMCell(4), {cast(t.l, int32)}); };
  c["raw_rnn emit"] = [](In t) {
    const Tensor lengths = constant({1, 4});
    const auto emit = [](const Tensor& output) -> std::optional<Tensor> {
      return output[{tf::all, {None, 2}}];
    };
    return raw(t, GRUCell(4), {lengths, zeros({2}), emit});
  };
  c["raw_rnn loop state"] = [](In t) {
    RawCase given{constant({5, 2})};
    given.count = constant(0.5);
    return raw(t, GRUCell(4), given);
  };
  c["raw_rnn no output"] = [](In t) {
    RawCase given{constant({3, 5})};
    given.emit = [](const Tensor&) { return std::optional<Tensor>(); };
    return raw(t, GRUCell(4), given);
  };
}

}  // namespace

void add_dynamic_rnn_cases(LayerCases& c) {
  add_raw_rnn(c);
  add_calls(c);
  add_calls_by_length(c);
  add_dynamic_rnn_errors(c);
  add_bidirectional(c);
}

void add_rnn_cases_by_length(LayerCases& c) {
  c["static_rnn lengths"] = [](In t) { return by_length(GRUCell(4), t, t.l); };
  c["static_rnn lengths list"] = [](In t) { return by_length(BasicLSTMCell(4), t, {3, 1}); };
  c["static_rnn lengths state"] = [](In t) {
    const BasicLSTMCell cell(4);
    const std::vector<Tensor> inputs{t.x, t.y, t.z};
    return all_of(nn::static_rnn(
        cell, inputs, {.initial_state = memory(t), .sequence_length = constant({2, 1})}));
  };
  c["static_rnn lengths multi"] = [](In t) {
    return by_length(MultiRNNCell({BasicLSTMCell(4), GRUCell(3)}), t, {2, 3});
  };
  c["static_rnn lengths unknown batch"] = [](In t) {
    return all_of(
        nn::static_rnn(GRUCell(4), {t.u, t.u}, {.dtype = float32, .sequence_length = t.l}));
  };
  c["static_rnn lengths matrix"] = [](In t) { return by_length(GRUCell(4), t, t.i); };
  c["static_rnn lengths dtypes"] = [](In t) {
    const MultiRNNCell cell({GRUCell(4), GRUCell(3)});
    const std::vector<Tensor> inputs{t.x, t.y, t.z};
    return all_of(
        nn::static_rnn(cell, inputs, {.initial_state = State{t.h, t.d}, .sequence_length = t.l}));
  };
  c["static_bidirectional_rnn lengths"] = [](In t) {
    const std::vector<Tensor> inputs{t.x, t.y, t.z};
    return all_of(nn::static_bidirectional_rnn(BasicLSTMCell(4), GRUCell(3), inputs,
                                               {.dtype = float32, .sequence_length = {{1, 3}}}));
  };
}

}  // namespace towerflow::testing
