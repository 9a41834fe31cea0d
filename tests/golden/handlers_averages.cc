// Moving averages, global steps and initialization.
#include "ops/array/boolean_mask.h"
#include "ops/variables/initialization.h"
#include "tests/golden/handlers.h"
#include "train/global_step.h"
#include "train/moving_average.h"

namespace towerflow::golden {
namespace {

using EmaPointer = std::shared_ptr<train::ExponentialMovingAverage>;

EmaPointer ema_of(const Args& args) { return args.object_as<EmaPointer>("ema"); }

train::Averaged averaged_argument(const Value& value) {
  if (const auto* variable = value.get_if<Variable>()) return *variable;
  return to_tensor(value);
}

/// Returns an average that refuses scopes with reuse, as TensorFlow does.
Value make_ema(Interpreter&, const Args& args) {
  std::optional<Operand> num_updates;
  if (!args.value("num_updates").none()) num_updates = args.operand("num_updates");
  const EmaPointer ema = std::make_shared<train::ExponentialMovingAverage>(
      args.operand("decay"), num_updates,
      train::ExponentialMovingAverageOptions{
          .zero_debias = args.flag("zero_debias"),
          .name = args.text("name", "ExponentialMovingAverage")});
  ema->set_strict_slots(true);
  return Object{"ExponentialMovingAverage", ema};
}

Value apply(Interpreter&, const Args& args) {
  if (args.value("var_list").none()) return ema_of(args)->apply();
  std::vector<train::Averaged> list;
  for (const Value& item : args.list("var_list")) list.push_back(averaged_argument(item));
  return ema_of(args)->apply(list);
}

Value average(Interpreter&, const Args& args) {
  const auto found = ema_of(args)->average(averaged_argument(args.value("var")));
  return found ? Value(*found) : Value();
}

Value variables_to_restore(Interpreter&, const Args& args) {
  std::optional<std::vector<Variable>> given;
  if (!args.value("moving_avg_variables").none()) given = args.variables("moving_avg_variables");
  Dict dict;
  for (const auto& [name, variable] : ema_of(args)->variables_to_restore(given)) {
    dict.emplace(name, variable);
  }
  return dict;
}

Value assign_average(Interpreter&, const Args& args) {
  return train::assign_moving_average(
      args.variable("variable"), args.operand("value"), args.operand("decay"),
      {.zero_debias = args.flag("zero_debias", true), .name = args.text("name")});
}

std::optional<std::vector<Variable>> var_list_argument(const Args& args) {
  if (args.value("var_list").none()) return std::nullopt;
  return args.variables("var_list");
}

Value report(Interpreter&, const Args& args) {
  return report_uninitialized_variables(
      var_list_argument(args), {.name = args.text("name", "report_uninitialized_variables")});
}

Value assert_initialized(Interpreter&, const Args& args) {
  const auto ranks = assert_variables_initialized(var_list_argument(args));
  return ranks ? Value(*ranks) : Value();
}

template <auto kListing>
Value variable_list(Interpreter&, const Args& args) {
  const std::vector<Variable> variables = kListing(args.optional_text("scope"));
  return List(variables.begin(), variables.end());
}

}  // namespace

void add_average_handlers(HandlerTable& table) {
  table["ExponentialMovingAverage"] = make_ema;
  table["ema_apply"] = apply;
  table["ema_average"] = average;
  table["ema_average_name"] = [](Interpreter&, const Args& args) -> Value {
    return ema_of(args)->average_name(averaged_argument(args.value("var")));
  };
  table["ema_variables_to_restore"] = variables_to_restore;
  table["assign_moving_average"] = assign_average;
  table["create_global_step"] = [](Interpreter&, const Args&) -> Value {
    return train::create_global_step();
  };
  table["assert_global_step"] = [](Interpreter&, const Args& args) -> Value {
    train::assert_global_step(args.variable("global_step"));
    return {};
  };
  table["global_step"] = [](Interpreter& in, const Args& args) -> Value {
    return train::global_step(in.session(), args.variable("global_step"));
  };
  table["is_variable_initialized"] = [](Interpreter&, const Args& args) -> Value {
    return is_variable_initialized(args.variable("variable"));
  };
  table["initialized_value"] = [](Interpreter&, const Args& args) -> Value {
    return args.variable("variable").initialized_value();
  };
  table["report_uninitialized_variables"] = report;
  table["assert_variables_initialized"] = assert_initialized;
  table["initialize_variables"] = [](Interpreter&, const Args& args) -> Value {
    return initialize_variables(args.variables("var_list"), args.text("name", "init"));
  };
  table["initialize_all_variables"] = [](Interpreter&, const Args&) -> Value {
    return initialize_all_variables();
  };
  table["initialize_local_variables"] = [](Interpreter&, const Args&) -> Value {
    return initialize_local_variables();
  };
  table["all_variables"] = [](Interpreter&, const Args&) -> Value {
    const std::vector<Variable> variables = all_variables();
    return List(variables.begin(), variables.end());
  };
  table["model_variables"] = variable_list<model_variables>;
  table["moving_average_variables"] = variable_list<moving_average_variables>;
  table["boolean_mask"] = [](Interpreter&, const Args& args) -> Value {
    return boolean_mask(args.operand("tensor"), args.operand("mask"),
                        {.name = args.text("name", "boolean_mask"),
                         .axis = static_cast<int>(args.integer("axis"))});
  };
}

}  // namespace towerflow::golden
