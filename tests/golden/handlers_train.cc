// Optimizers.
#include "tests/golden/handlers.h"
#include "train/adaptive_optimizers.h"
#include "train/global_step.h"
#include "train/optimizer.h"
#include "train/regularized_optimizers.h"

namespace towerflow::golden {
namespace {

using OptimizerPointer = std::shared_ptr<train::Optimizer>;

OptimizerPointer optimizer_of(const Args& args) {
  return args.object_as<OptimizerPointer>("optimizer");
}

Value compute_gradients(Interpreter&, const Args& args) {
  train::ComputeGradientsOptions options;
  if (!args.value("var_list").none()) options.var_list = args.variables("var_list");
  options.gate_gradients = static_cast<int>(args.integer("gate_gradients", train::GATE_OP));
  options.aggregation_method = aggregation_method_of(args);
  options.colocate_gradients_with_ops = args.flag("colocate_gradients_with_ops");
  options.grad_loss = gradient_of(args.value("grad_loss"));
  List pairs;
  for (const auto& [grad, var] :
       optimizer_of(args)->compute_gradients(args.tensor("loss"), options)) {
    pairs.push_back(List{Value::of(grad), var});
  }
  return pairs;
}

Value apply_gradients(Interpreter&, const Args& args) {
  std::vector<GradAndVar> pairs;
  for (const Value& pair : args.list("grads_and_vars")) {
    const auto* variable = pair.list()->at(1).get_if<Variable>();
    if (variable == nullptr) throw BadProgram("no variable in a pair of grads_and_vars");
    pairs.push_back({gradient_of(pair.list()->at(0)), *variable});
  }
  train::ApplyGradientsOptions options;
  options.global_step = args.optional_variable("global_step");
  options.name = args.text("name");
  return optimizer_of(args)->apply_gradients(pairs, options);
}

Value minimize(Interpreter&, const Args& args) {
  train::MinimizeOptions options;
  options.global_step = args.optional_variable("global_step");
  if (!args.value("var_list").none()) options.var_list = args.variables("var_list");
  options.gate_gradients = static_cast<int>(args.integer("gate_gradients", train::GATE_OP));
  options.aggregation_method = aggregation_method_of(args);
  options.colocate_gradients_with_ops = args.flag("colocate_gradients_with_ops");
  options.grad_loss = gradient_of(args.value("grad_loss"));
  options.name = args.text("name");
  return optimizer_of(args)->minimize(args.tensor("loss"), options);
}

Value momentum(Interpreter&, const Args& args) {
  train::MomentumOptions options;
  options.use_locking = args.flag("use_locking");
  options.name = args.text("name", "Momentum");
  options.use_nesterov = args.flag("use_nesterov");
  const OptimizerPointer optimizer = std::make_shared<train::MomentumOptimizer>(
      args.operand("learning_rate"), args.operand("momentum"), options);
  return Object{"MomentumOptimizer", optimizer};
}

Value gradient_descent(Interpreter&, const Args& args) {
  train::GradientDescentOptions options;
  options.use_locking = args.flag("use_locking");
  options.name = args.text("name", "GradientDescent");
  const OptimizerPointer optimizer =
      std::make_shared<train::GradientDescentOptimizer>(args.operand("learning_rate"), options);
  return Object{"GradientDescentOptimizer", optimizer};
}

Value adam(Interpreter&, const Args& args) {
  train::AdamOptions options;
  options.use_locking = args.flag("use_locking");
  options.name = args.text("name", "Adam");
  if (args.has("beta1")) options.beta1 = args.operand("beta1");
  if (args.has("beta2")) options.beta2 = args.operand("beta2");
  if (args.has("epsilon")) options.epsilon = args.operand("epsilon");
  const Operand rate = args.has("learning_rate") ? args.operand("learning_rate") : Operand(0.001);
  const OptimizerPointer optimizer = std::make_shared<train::AdamOptimizer>(rate, options);
  return Object{"AdamOptimizer", optimizer};
}

Value rms_prop(Interpreter&, const Args& args) {
  train::RMSPropOptions options;
  options.use_locking = args.flag("use_locking");
  options.centered = args.flag("centered");
  options.name = args.text("name", "RMSProp");
  if (args.has("decay")) options.decay = args.operand("decay");
  if (args.has("momentum")) options.momentum = args.operand("momentum");
  if (args.has("epsilon")) options.epsilon = args.operand("epsilon");
  const OptimizerPointer optimizer =
      std::make_shared<train::RMSPropOptimizer>(args.operand("learning_rate"), options);
  return Object{"RMSPropOptimizer", optimizer};
}

Value adagrad(Interpreter&, const Args& args) {
  train::AdagradOptions options;
  options.use_locking = args.flag("use_locking");
  options.name = args.text("name", "Adagrad");
  options.initial_accumulator_value = args.number("initial_accumulator_value", 0.1);
  const OptimizerPointer optimizer =
      std::make_shared<train::AdagradOptimizer>(args.operand("learning_rate"), options);
  return Object{"AdagradOptimizer", optimizer};
}

Value adadelta(Interpreter&, const Args& args) {
  train::AdadeltaOptions options;
  options.use_locking = args.flag("use_locking");
  options.name = args.text("name", "Adadelta");
  if (args.has("rho")) options.rho = args.operand("rho");
  if (args.has("epsilon")) options.epsilon = args.operand("epsilon");
  const Operand rate = args.has("learning_rate") ? args.operand("learning_rate") : Operand(0.001);
  const OptimizerPointer optimizer = std::make_shared<train::AdadeltaOptimizer>(rate, options);
  return Object{"AdadeltaOptimizer", optimizer};
}

void set_penalty(const Args& args, const char* name, Operand& penalty) {
  if (args.has(name)) penalty = args.operand(name);
}
void set_penalty(const Args& args, const char* name, double& penalty) {
  penalty = args.number(name, 0.0);
}

/// Sets the penalties, the lock and the name in the options of an optimizer.
template <class Options>
void set_penalties(const Args& args, const char* name, Options& options) {
  options.use_locking = args.flag("use_locking");
  options.name = args.text("name", name);
  set_penalty(args, "l1_regularization_strength", options.l1_regularization_strength);
  set_penalty(args, "l2_regularization_strength", options.l2_regularization_strength);
}

Value adagrad_da(Interpreter&, const Args& args) {
  train::AdagradDAOptions options;
  set_penalties(args, "AdagradDA", options);
  options.initial_gradient_squared_accumulator_value =
      args.number("initial_gradient_squared_accumulator_value", 0.1);
  const OptimizerPointer optimizer = std::make_shared<train::AdagradDAOptimizer>(
      args.operand("learning_rate"), args.operand("global_step"), options);
  return Object{"AdagradDAOptimizer", optimizer};
}

Value ftrl(Interpreter&, const Args& args) {
  train::FtrlOptions options;
  set_penalties(args, "Ftrl", options);
  options.learning_rate_power = args.number("learning_rate_power", -0.5);
  options.initial_accumulator_value = args.number("initial_accumulator_value", 0.1);
  options.accum_name = args.text("accum_name");
  options.linear_name = args.text("linear_name");
  options.l2_shrinkage_regularization_strength =
      args.number("l2_shrinkage_regularization_strength", 0.0);
  options.beta = args.number("beta", 0.0);
  const OptimizerPointer optimizer =
      std::make_shared<train::FtrlOptimizer>(args.operand("learning_rate"), options);
  return Object{"FtrlOptimizer", optimizer};
}

Value proximal_adagrad(Interpreter&, const Args& args) {
  train::ProximalAdagradOptions options;
  set_penalties(args, "ProximalAdagrad", options);
  options.initial_accumulator_value = args.number("initial_accumulator_value", 0.1);
  const OptimizerPointer optimizer =
      std::make_shared<train::ProximalAdagradOptimizer>(args.operand("learning_rate"), options);
  return Object{"ProximalAdagradOptimizer", optimizer};
}

Value proximal_gradient_descent(Interpreter&, const Args& args) {
  train::ProximalGradientDescentOptions options;
  set_penalties(args, "ProximalGradientDescent", options);
  const OptimizerPointer optimizer = std::make_shared<train::ProximalGradientDescentOptimizer>(
      args.operand("learning_rate"), options);
  return Object{"ProximalGradientDescentOptimizer", optimizer};
}

/// Makes an optimizer that refuses scopes with reuse for its slots, as TensorFlow does.
template <Value (*kMake)(Interpreter&, const Args&)>
Value with_strict_slots(Interpreter& interpreter, const Args& args) {
  const Value made = kMake(interpreter, args);
  std::any_cast<OptimizerPointer>(made.get_if<Object>()->object)->set_strict_slots(true);
  return made;
}

}  // namespace

void add_train_handlers(HandlerTable& table) {
  table["GradientDescentOptimizer"] = with_strict_slots<gradient_descent>;
  table["MomentumOptimizer"] = with_strict_slots<momentum>;
  table["AdamOptimizer"] = with_strict_slots<adam>;
  table["RMSPropOptimizer"] = with_strict_slots<rms_prop>;
  table["AdagradOptimizer"] = with_strict_slots<adagrad>;
  table["AdadeltaOptimizer"] = with_strict_slots<adadelta>;
  table["AdagradDAOptimizer"] = with_strict_slots<adagrad_da>;
  table["FtrlOptimizer"] = with_strict_slots<ftrl>;
  table["ProximalAdagradOptimizer"] = with_strict_slots<proximal_adagrad>;
  table["ProximalGradientDescentOptimizer"] = with_strict_slots<proximal_gradient_descent>;
  table["compute_gradients"] = compute_gradients;
  table["apply_gradients"] = apply_gradients;
  table["minimize"] = minimize;
  table["get_slot"] = [](Interpreter&, const Args& args) -> Value {
    const auto slot = optimizer_of(args)->get_slot(args.variable("var"), args.text("name"));
    return slot ? Value(*slot) : Value();
  };
  table["get_global_step"] = [](Interpreter&, const Args&) -> Value {
    const auto step = train::get_global_step();
    return step ? Value(*step) : Value();
  };
  table["get_or_create_global_step"] = [](Interpreter&, const Args&) -> Value {
    return train::get_or_create_global_step();
  };
  table["get_slot_names"] = [](Interpreter&, const Args& args) -> Value {
    List names;
    for (const std::string& name : optimizer_of(args)->get_slot_names()) names.emplace_back(name);
    return names;
  };
  table["optimizer_variables"] = [](Interpreter&, const Args& args) -> Value {
    const std::vector<Variable> kept = optimizer_of(args)->variables();
    return List(kept.begin(), kept.end());
  };
}

}  // namespace towerflow::golden
