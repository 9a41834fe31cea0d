// Mistakes that only numbers show.
#include <fmt/format.h>

#include "models/mistakes/mistakes.h"
#include "towerflow/tf.h"

namespace towerflow::models::mistakes {

std::string relu_on_logits() {
  const Tensor logits = tf::constant({-1.0, -2.0, -3.0});
  const Tensor loss = tf::nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = tf::constant(0), .logits = tf::nn::relu(logits)});
  const Tensor gradient = tf::gradients(loss, logits)[0]->dense();
  Session session;
  const auto [value, slope] = session.run({loss, gradient});
  const auto slopes = slope.flat<float>();
  return fmt::format("loss {:.4f}, gradient of the logits {} {} {}", value.item<float>(),
                     slopes[0] + 0.0F, slopes[1], slopes[2]);
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
  const Variable w = tf::get_variable("w", Shape{}, {.initializer = tf::ones_initializer()});
  tf::train::ExponentialMovingAverage averages(0.5);
  const Operation update = tf::train::GradientDescentOptimizer(1.0).minimize(w * 1.0);
  const Operation average = averages.apply({w});  // waits for nothing: before or after the update
  const Operation train_op = tf::group({update, average});
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(train_op);
  const float shadow = session.run(*averages.average(w)).item<float>();
  return fmt::format("the average is {}: of the variable {} its update", shadow,
                     shadow == 0.5F ? "after" : "before");
}

}  // namespace towerflow::models::mistakes
