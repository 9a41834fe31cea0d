// Mistakes with scopes: which variables there are, and which of them are shared.
#include <fmt/format.h>

#include <algorithm>

#include "models/mistakes/mistakes.h"
#include "towerflow/tf.h"

namespace towerflow::models::mistakes {

std::string reuse_under_another_name() {
  const auto scope = tf::variable_scope("discriminator");
  tf::with(tf::variable_scope("real_discriminator"),
           [](auto&) { return tf::get_variable("w", {3}); });
  tf::with(tf::variable_scope("fake_discriminator", {.reuse = true}),
           [](auto&) { return tf::get_variable("w", {3}); });
  return "";
}

std::string scope_of_a_tower() {
  const auto tower = tf::name_scope("Tower_0");
  const Variable w = tf::get_variable("discriminator/w", {3});
  const auto variables =
      tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, "Tower_0/discriminator");
  tf::train::AdamOptimizer opt(0.1);
  opt.compute_gradients(tf::reduce_sum(w), {.var_list = variables});
  return "";
}

std::string loop_not_wrapped() {
  std::vector<std::vector<GradAndVar>> tower_grads;
  tf::train::AdamOptimizer opt(0.1);
  opt.set_strict_slots(true);  // as in TensorFlow; by default the slots are created
  for (int i = 0; i < 2; ++i) {
    const auto tower = tf::name_scope("tower_" + std::to_string(i));
    tower_grads.push_back(opt.compute_gradients(tf::reduce_sum(tf::get_variable("w", {3}))));
    tf::get_variable_scope().reuse_variables();  // of the root: it outlives the loop
  }
  opt.apply_gradients(tf::average_gradients(tower_grads));
  return "";
}

std::string variables_not_shared() {
  std::vector<std::vector<OptionalGradient>> tower_grads;
  for (int i = 0; i < 2; ++i) {
    const auto tower = tf::name_scope("tower_" + std::to_string(i));
    const Variable w(Nested({1.0, 2.0}), {.name = "w"});  // one for each tower
    tower_grads.push_back(tf::gradients(tf::reduce_sum(w * w), w));
  }
  std::vector<OptionalGradient> averaged{
      tf::reduce_mean({tower_grads[0][0], tower_grads[1][0]}, 0)};
  // As Python's zip pairs them: it ends with the shorter list. tf::zip throws instead.
  const std::vector<Variable> variables = tf::trainable_variables();
  std::vector<GradAndVar> pairs;
  for (std::size_t i = 0; i < std::min(averaged.size(), variables.size()); ++i) {
    pairs.push_back({averaged[i], variables[i]});
  }
  const Operation train_op = tf::train::GradientDescentOptimizer(0.1).apply_gradients(pairs);
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(train_op);
  std::string text = "after a step:";
  for (const Variable& w : variables) {
    const Array value = session.run(w);
    const auto values = value.flat<float>();
    text += fmt::format(" {} {} {}", w.op().name(), values[0], values[1]);
  }
  return text;
}

}  // namespace towerflow::models::mistakes
