// Two towers learn y = 3x - 1 with the installed library (scripts/checks/consumer).
#include <towerflow/tf.h>

#include <cstdio>

int main() {
  const auto cpu = tf::device("/cpu:0");
  tf::train::GradientDescentOptimizer opt(0.1);
  std::vector<std::vector<tf::GradAndVar>> tower_grads;
  for (int i = 0; i < 2; ++i) {
    const auto vars = tf::variable_scope(tf::get_variable_scope(), {.reuse = i > 0});
    const auto device = tf::device("/gpu:" + std::to_string(i));
    const auto tower = tf::name_scope("tower_" + std::to_string(i));
    const tf::Tensor x = tf::random_uniform({64, 1}, {.minval = -1, .maxval = 1, .seed = i});
    const tf::Variable w = tf::get_variable("w", {1, 1}), b = tf::get_variable("b", {1});
    const tf::Tensor y = tf::matmul(x, w) + b;
    tower_grads.push_back(opt.compute_gradients(tf::reduce_mean(tf::square(y - (3.0 * x - 1.0)))));
  }
  const auto train_op = opt.apply_gradients(tf::average_gradients(tower_grads));
  tf::Session sess({.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
  sess.run(tf::global_variables_initializer());
  for (int step = 0; step < 200; ++step) sess.run(train_op);
  for (const tf::Variable& v : tf::trainable_variables()) {
    std::printf("%s = %.3f\n", v.name().c_str(), sess.run(v).item<float>());
  }
}
