// Mistakes that only numbers show.
#include <fmt/format.h>

#include "models/mistakes/mistakes.h"
#include "towerflow/tf.h"

namespace towerflow::models::mistakes {

std::string relu_on_logits() {
  std::string text = "loss after 100 steps:";
  for (const bool relu : {true, false}) {
    const auto scope = tf::variable_scope(relu ? "relu" : "linear");
    const Variable w =
        tf::get_variable("weights", {3, 3}, {.initializer = tf::constant_initializer(0.1)});
    const Variable b =
        tf::get_variable("biases", {3}, {.initializer = tf::constant_initializer(-0.2)});
    const Tensor x = tf::constant({{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}});
    Tensor logits = tf::matmul(x, w) + b;  // -0.1 at first
    if (relu) logits = tf::nn::relu(logits);
    const Tensor loss = tf::reduce_mean(tf::nn::sparse_softmax_cross_entropy_with_logits(
        {.labels = tf::constant({0, 1, 2}), .logits = logits}));
    const Operation train_op = tf::train::GradientDescentOptimizer(1.0).minimize(loss);
    Session session;
    session.run(tf::global_variables_initializer());
    for (int step = 0; step < 100; ++step) session.run(train_op);
    text += fmt::format("{} {:.4f}", relu ? " with ReLU" : ", without",
                        session.run(loss).item<float>());
  }
  return text;
}

std::string steps_counted_three_times() {
  const Variable global_step = tf::train::get_or_create_global_step();
  const Tensor rate = tf::train::exponential_decay(1.0, global_step, 300, 0.1, {.staircase = true});
  std::vector<Operation> updates;
  for (const char* part : {"enc", "gen", "dis"}) {
    const Variable w = tf::get_variable(part, {2});
    tf::train::GradientDescentOptimizer opt(rate);
    updates.push_back(opt.minimize(tf::reduce_sum(w * w), {.global_step = global_step}));
  }
  const Operation train_op = tf::group(updates);
  Session session;
  session.run(tf::global_variables_initializer());
  for (int step = 0; step < 100; ++step) session.run(train_op);
  return fmt::format("after 100 steps: global_step {}, rate {:.1f}",
                     session.run(global_step).item<std::int64_t>(),
                     session.run(rate).item<float>());
}

std::string averages_not_ordered() {
  std::vector<float> seen;
  for (const std::string waiting : {"average", "update", "neither"}) {
    Graph graph;
    const auto as_default = graph.as_default();
    const Variable w = tf::get_variable("w", Shape{}, {.initializer = tf::ones_initializer()});
    tf::train::ExponentialMovingAverage averages(0.5);
    tf::train::GradientDescentOptimizer opt(1.0);
    Operation update, average;
    if (waiting == "update") {
      average = averages.apply({w});
      const auto after = tf::control_dependencies({average});
      update = opt.minimize(w * 1.0);
    } else {
      update = opt.minimize(w * 1.0);
      std::vector<Operation> before;
      if (waiting == "average") before = {update};
      const auto after = tf::control_dependencies(before);
      average = averages.apply({w});
    }
    const Operation train_op = tf::group({update, average});
    Session session;
    session.run(tf::global_variables_initializer());
    session.run(train_op);
    seen.push_back(session.run(*averages.average(w)).item<float>());
  }
  return fmt::format(
      "the average of a variable that a step takes from 1 to 0: {} if the average waits, {} if the "
      "update waits, {} if neither does",
      seen[0], seen[1], seen[2]);
}

}  // namespace towerflow::models::mistakes
