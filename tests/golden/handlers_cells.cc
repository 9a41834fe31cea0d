// Recurrent cells.
#include "layers/rnn.h"
#include "layers/rnn_cell.h"
#include "layers/rnn_cell_wrappers.h"
#include "tests/golden/functions.h"
#include "tests/golden/handlers.h"
#include "tests/golden/structures.h"

namespace towerflow::golden {
namespace {

using namespace nn::rnn_cell;

RNNCell cell_of(const Value& value) {
  const auto* object = value.get_if<Object>();
  const auto* cell = object == nullptr ? nullptr : std::any_cast<RNNCell>(&object->object);
  if (cell == nullptr) throw DoesNotCompile("no cell");
  return *cell;
}

Value held(const RNNCell& cell) { return Object{"Cell", cell}; }

/// Returns a state that a call gave, or one tensor.
State state_of(const Value& value) {
  const auto* object = value.get_if<Object>();
  if (object != nullptr && object->type == "State") return std::any_cast<State>(object->object);
  if (object != nullptr && object->type == "tuple") {
    std::vector<State> parts;
    for (const Value& item : items_of(value)) parts.push_back(state_of(item));
    return State(std::move(parts));
  }
  return State(to_tensor(value));
}

/// A state of one tensor is a tensor, as in Python.
Value held(const State& state) {
  if (state.is_leaf()) return state.leaf();
  return Object{"State", state};
}

template <class Options>
Options cell_options(const Args& args) {
  Options options;
  if (const auto activation = activation_of(args, "activation")) options.activation = *activation;
  options.reuse = reuse_of(args.value("reuse"));
  options.name = args.text("name");
  options.dtype = args.optional_dtype("dtype");
  return options;
}

int units(const Args& args) { return static_cast<int>(args.integer("num_units")); }

Value basic_lstm(Interpreter&, const Args& args) {
  auto options = cell_options<BasicLSTMCellOptions>(args);
  options.forget_bias = args.number("forget_bias", 1.0);
  options.state_is_tuple = args.flag("state_is_tuple", true);
  return held(BasicLSTMCell(units(args), options));
}

Value lstm(Interpreter&, const Args& args) {
  auto options = cell_options<LSTMCellOptions>(args);
  options.use_peepholes = args.flag("use_peepholes");
  if (!args.value("cell_clip").none()) options.cell_clip = args.number("cell_clip");
  options.initializer = initializer_argument(args, "initializer");
  if (!args.value("num_proj").none()) options.num_proj = static_cast<int>(args.integer("num_proj"));
  if (!args.value("proj_clip").none()) options.proj_clip = args.number("proj_clip");
  options.forget_bias = args.number("forget_bias", 1.0);
  options.state_is_tuple = args.flag("state_is_tuple", true);
  return held(LSTMCell(units(args), options));
}

Value gru(Interpreter&, const Args& args) {
  auto options = cell_options<GRUCellOptions>(args);
  options.kernel_initializer = initializer_argument(args, "kernel_initializer");
  options.bias_initializer = initializer_argument(args, "bias_initializer");
  return held(GRUCell(units(args), options));
}

Value several(Interpreter&, const Args& args) {
  std::vector<RNNCell> cells;
  for (const Value& item : args.list("cells")) cells.push_back(cell_of(item));
  return held(MultiRNNCell(cells, {.state_is_tuple = args.flag("state_is_tuple", true)}));
}

Value with_dropout(Interpreter&, const Args& args) {
  DropoutWrapperOptions options;
  const auto set = [&](const char* key, ScalarOperand& probability) {
    if (args.has(key)) probability = ScalarOperand(args.operand(key));
  };
  set("input_keep_prob", options.input_keep_prob);
  set("output_keep_prob", options.output_keep_prob);
  set("state_keep_prob", options.state_keep_prob);
  options.seed = args.optional_integer("seed");
  return held(DropoutWrapper(cell_of(args.value("cell")), options));
}

Value call_cell(Interpreter&, const Args& args) {
  CellCallOptions options;
  if (const auto scope = args.optional_text("scope")) options.scope = layers::Scope(*scope);
  const CellResult result =
      cell_of(args.value("cell"))(args.operand("inputs"), state_of(args.value("state")), options);
  return List{result.output, held(result.state)};
}

Value unrolled(Interpreter&, const Args& args) {
  nn::StaticRnnOptions options;
  if (!args.value("initial_state").none()) {
    options.initial_state = state_of(args.value("initial_state"));
  }
  options.dtype = args.optional_dtype("dtype");
  if (const auto scope = args.optional_text("scope")) options.scope = layers::Scope(*scope);
  std::vector<Operand> inputs;
  for (const Value& item : args.list("inputs")) inputs.push_back(to_operand(item));
  const auto [outputs, state] = nn::static_rnn(cell_of(args.value("cell")), inputs, options);
  return List{List(outputs.begin(), outputs.end()), held(state)};
}

}  // namespace

void add_cell_handlers(HandlerTable& table) {
  table["BasicRNNCell"] = [](Interpreter&, const Args& args) -> Value {
    return held(BasicRNNCell(units(args), cell_options<BasicRNNCellOptions>(args)));
  };
  table["GRUCell"] = gru;
  table["BasicLSTMCell"] = basic_lstm;
  table["LSTMCell"] = lstm;
  table["MultiRNNCell"] = several;
  table["DropoutWrapper"] = with_dropout;
  table["ResidualWrapper"] = [](Interpreter&, const Args& args) -> Value {
    return held(ResidualWrapper(cell_of(args.value("cell"))));
  };
  table["static_rnn"] = unrolled;
  table["cell_call"] = call_cell;
  table["zero_state"] = [](Interpreter&, const Args& args) -> Value {
    return held(cell_of(args.value("cell"))
                    .zero_state(ScalarOperand(args.operand("batch_size")), args.dtype("dtype")));
  };
  table["nest_flatten"] = [](Interpreter&, const Args& args) -> Value {
    const std::vector<Tensor> tensors = state_of(args.value("structure")).flatten();
    return List(tensors.begin(), tensors.end());
  };
}

}  // namespace towerflow::golden
