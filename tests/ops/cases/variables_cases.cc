// Ops that write variables: the values of the variable and of the optimizer's slots afterwards.
#include <memory>

#include "ops/variables/count_up_to.h"
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

constexpr const char* kVariable = "v = tf.Variable(tf.ones([4, 2], dtype), name='v')\n";

/// A device that can store it updates it.
Variable ones_variable(DType dtype) {
  return Variable(tf::ones({4, 2}, {.dtype = dtype}), {.name = "v", .home = VariableHome::device});
}

/// Returns the values of variables after `update` has run.
CaseResults values_after(const Operation& update, const std::vector<Variable>& variables) {
  const auto after = tf::control_dependencies({update});
  std::vector<Tensor> values;
  for (const Variable& variable : variables) values.push_back(tf::identity(variable.read_value()));
  return values;
}

/// Returns the same in Python, after lines that define `update` and `kept`.
std::string append_reads(const std::string& lines) {
  return kVariable + lines +
         "\nwith tf.control_dependencies([update]):\n"
         "  result = [tf.identity(one.read_value()) for one in kept]";
}

void add_assign_cases(std::vector<OpCase>& cases) {
  struct Write {
    const char* op;
    const char* python;
    std::function<Tensor(const Variable&, In)> call;
    std::vector<CaseInput> inputs;
  };
  const CaseInput rows = input_of({3}, {2, 0, 2}, DType::int32);
  const Write writes[] = {
      {"Assign",
       "tf.assign(v, x)",
       [](const Variable& v, In t) { return tf::assign(v, t.x); },
       {random_input({4, 2})}},
      {"AssignAdd",
       "tf.assign_add(v, x)",
       [](const Variable& v, In t) { return tf::assign_add(v, t.x); },
       {random_input({4, 2})}},
      {"AssignSub",
       "tf.assign_sub(v, x)",
       [](const Variable& v, In t) { return tf::assign_sub(v, t.x); },
       {random_input({4, 2})}},
      {"ScatterAdd",
       "tf.scatter_add(v, y, x)",
       [](const Variable& v, In t) { return tf::scatter_add(v, t.y, t.x); },
       {random_input({3, 2}), rows}},
      {"ScatterSub",
       "tf.scatter_sub(v, y, x)",
       [](const Variable& v, In t) { return tf::scatter_sub(v, t.y, t.x); },
       {random_input({3, 2}), rows}},
  };
  for (const Write& write : writes) {
    cases.push_back(
        {.name = write.op,
         .inputs = write.inputs,
         .call =
             [call = write.call](In t) {
               const Variable v = ones_variable(t.dtype);
               return values_after(call(v, t).op(), {v});
             },
         .python = append_reads(std::string("update = ") + write.python + ".op\nkept = [v]"),
         .gradients = CaseGradients::none});
  }
  cases.push_back({.name = "CountUpTo",
                   .call =
                       [](In t) {
                         const Variable v(tf::zeros({}, {.dtype = t.dtype}), {.name = "v"});
                         return count_up_to(v, 3);
                       },
                   .python = "v = tf.Variable(tf.zeros([], dtype), name='v')\n"
                             "result = tf.count_up_to(v, 3)",
                   .dtypes = integers(),
                   .gradients = CaseGradients::none});
  cases.push_back({.name = "IsVariableInitialized",
                   .call = [](In t) { return tf::is_variable_initialized(ones_variable(t.dtype)); },
                   .python = kVariable + std::string("result = tf.is_variable_initialized(v)"),
                   .gradients = CaseGradients::none});
}

struct Rule {
  const char* op;
  const char* python;
  std::function<std::unique_ptr<train::Optimizer>(DType)> make;
};

template <class O, class... Options>
Rule rule(const char* op, const char* python, Options... options) {
  return {op, python, [=](DType) { return std::make_unique<O>(options...); }};
}

Rule dual_averaging() {
  return {"AdagradDA", "tf.train.AdagradDAOptimizer(0.1, tf.constant(3, tf.int64), 0.1, 0.05, 0.2)",
          [](DType) {
            const Tensor step = tf::constant(3, {.dtype = DType::int64});
            return std::make_unique<train::AdagradDAOptimizer>(
                0.1, step,
                train::AdagradDAOptions{.l1_regularization_strength = 0.05,
                                        .l2_regularization_strength = 0.2});
          }};
}

/// The rates and penalties of the proximal optimizers must have the dtype of the variable.
Tensor number_of(double value, DType dtype) { return tf::constant(value, {.dtype = dtype}); }

Rule proximal_descent() {
  return {"ProximalGradientDescent",
          "tf.train.ProximalGradientDescentOptimizer("
          "*[tf.constant(number, dtype) for number in (0.1, 0.05, 0.2)])",
          [](DType dtype) {
            const Tensor rate = number_of(0.1, dtype), l1 = number_of(0.05, dtype);
            const Tensor l2 = number_of(0.2, dtype);
            return std::make_unique<train::ProximalGradientDescentOptimizer>(
                rate, train::ProximalGradientDescentOptions{.l1_regularization_strength = l1,
                                                            .l2_regularization_strength = l2});
          }};
}

Rule proximal_adagrad() {
  return {"ProximalAdagrad",
          "rate, l1, l2 = [tf.constant(number, dtype) for number in (0.1, 0.05, 0.2)]\n"
          "optimizer = tf.train.ProximalAdagradOptimizer(rate, 0.1, l1, l2)",
          [](DType dtype) {
            const Tensor rate = number_of(0.1, dtype), l1 = number_of(0.05, dtype);
            const Tensor l2 = number_of(0.2, dtype);
            return std::make_unique<train::ProximalAdagradOptimizer>(
                rate, train::ProximalAdagradOptions{.l1_regularization_strength = l1,
                                                    .l2_regularization_strength = l2});
          }};
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      rule<train::GradientDescentOptimizer>("GradientDescent",
                                            "tf.train.GradientDescentOptimizer(0.1)", 0.1),
      rule<train::MomentumOptimizer>("Momentum", "tf.train.MomentumOptimizer(0.1, 0.9)", 0.1, 0.9),
      rule<train::AdamOptimizer>("Adam", "tf.train.AdamOptimizer(0.1)", 0.1),
      rule<train::AdagradOptimizer>("Adagrad", "tf.train.AdagradOptimizer(0.1)", 0.1),
      rule<train::RMSPropOptimizer>("RMSProp", "tf.train.RMSPropOptimizer(0.1, momentum=0.5)", 0.1,
                                    train::RMSPropOptions{.momentum = 0.5}),
      rule<train::RMSPropOptimizer>("CenteredRMSProp",
                                    "tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True)",
                                    0.1, train::RMSPropOptions{.momentum = 0.5, .centered = true}),
      rule<train::AdadeltaOptimizer>("Adadelta", "tf.train.AdadeltaOptimizer(0.5)", 0.5),
      dual_averaging(),
      rule<train::FtrlOptimizer>("Ftrl", "tf.train.FtrlOptimizer(0.1, -0.5, 0.1, 0.05, 0.2)", 0.1,
                                 train::FtrlOptions{.l1_regularization_strength = 0.05,
                                                    .l2_regularization_strength = 0.2}),
      rule<train::FtrlOptimizer>(
          "FtrlV2", "tf.train.FtrlOptimizer(0.1, -0.75, l2_shrinkage_regularization_strength=0.1)",
          0.1,
          train::FtrlOptions{.learning_rate_power = -0.75,
                             .l2_shrinkage_regularization_strength = 0.1}),
      proximal_descent(),
      proximal_adagrad(),
  };
  return all;
}

/// Returns a variable and its slots after one step of an optimizer.
CaseResults step(const Rule& rule, const Gradient& gradient, const Variable& v) {
  const auto optimizer = rule.make(v.dtype());
  const Operation update = optimizer->apply_gradients({{gradient, v}});
  std::vector<Variable> kept{v};
  for (const std::string& name : optimizer->get_slot_names()) {
    kept.push_back(*optimizer->get_slot(v, name));
  }
  return values_after(update, kept);
}

/// Returns a step of `rule` in Python, with the gradient given by a Python expression.
std::string python_step(const Rule& rule, const std::string& gradient) {
  const std::string python = rule.python;
  return append_reads(
      "gradient = " + gradient + "\n" +
      (python.starts_with("tf.") ? "optimizer = " + python : python) +
      "\nupdate = optimizer.apply_gradients([(gradient, v)])"
      "\nkept = [v] + [optimizer.get_slot(v, s) for s in optimizer.get_slot_names()]");
}

void add_update_cases(std::vector<OpCase>& cases) {
  const auto add = [&](std::string name, std::vector<CaseInput> inputs,
                       std::function<CaseResults(In)> call, std::string python) {
    // TensorFlow adds repeated rows in separate nodes first.
    const bool rows_twice = name.find("Sparse") != std::string::npos;
    cases.push_back({.name = std::move(name),
                     .inputs = std::move(inputs),
                     .call = std::move(call),
                     .python = std::move(python),
                     .other_nodes = rows_twice,
                     .gradients = CaseGradients::none});
  };
  const CaseInput rows = input_of({3}, {2, 0, 2}, DType::int32);
  for (const Rule& one : rules()) {
    const std::string op = one.op;
    add(
        "Apply" + op, {random_input({4, 2})},
        [one](In t) { return step(one, t.x, ones_variable(t.dtype)); }, python_step(one, "x"));
    add(
        "_MeanApply" + op, {random_input({4, 2}), random_input({4, 2})},
        [one](In t) {
          const Variable v = ones_variable(t.dtype);
          const Tensor x = tf::expand_dims(t.x, 0), y = tf::expand_dims(t.y, 0);
          return step(one, tf::reduce_mean(tf::concat({x, y}, 0), 0), v);
        },
        python_step(one,
                    "tf.reduce_mean(tf.concat("
                    "[tf.expand_dims(x, 0), tf.expand_dims(y, 0)], 0), 0)"));
    if (op == "GradientDescent") continue;  // with slices it is a ScatterSub
    add(
        "SparseApply" + op, {random_input({3, 2}), rows},
        [one](In t) {
          return step(one, IndexedSlices{t.x, t.y, std::nullopt}, ones_variable(t.dtype));
        },
        python_step(one, "tf.IndexedSlices(x, y)"));
    add(
        "_MeanSparseApply" + op, {random_input({3, 2}), random_input({3, 2}), rows},
        [one](In t) {
          const Variable v = ones_variable(t.dtype);
          const Tensor values = tf::concat({t.x, t.y}, 0) / 2.0;
          return step(one, IndexedSlices{values, tf::concat({t.z, t.z}, 0), std::nullopt}, v);
        },
        python_step(one, "tf.IndexedSlices(tf.concat([x, y], 0) / 2.0, tf.concat([z, z], 0))"));
  }
  add(
      "_MovingAverage", {random_input({4, 2})},
      [](In t) {
        const Variable v = ones_variable(t.dtype);
        return values_after(tf::assign_sub(v, (v - t.x) * 0.25).op(), {v});
      },
      append_reads("update = tf.assign_sub(v, (v - x) * 0.25).op\nkept = [v]"));
  cases.push_back({.name = "_MeanOfN",
                   .inputs = {random_input({4, 2}), random_input({4, 2})},
                   .call =
                       [](In t) {
                         return tf::reduce_mean(
                             tf::concat({tf::expand_dims(t.x, 0), tf::expand_dims(t.y, 0)}, 0), 0);
                       },
                   .python = "tf.reduce_mean(tf.concat("
                             "[tf.expand_dims(x, 0), tf.expand_dims(y, 0)], 0), 0)"});
}

}  // namespace

void add_variables_cases(std::vector<OpCase>& cases) {
  add_assign_cases(cases);
  add_update_cases(cases);
}

}  // namespace towerflow::testing
