// Two towers learn y = 3x - 1 together: one graph, replicated; variables shared; gradients
// averaged.
#include <towerflow/tf.h>

#include <cstdio>

int main() {
  tf::Graph graph;
  const auto g = graph.as_default();
  const auto cpu = tf::device("/cpu:0");  // variables and the update live here
  tf::train::GradientDescentOptimizer opt(0.1);
  std::vector<std::vector<tf::GradAndVar>> tower_grads;
  tf::Tensor loss;
  {
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < 2; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      const tf::Tensor x = tf::random_uniform({64, 1}, {.minval = -1, .maxval = 1, .seed = i});
      const tf::Variable w = tf::get_variable("w", {1, 1}), b = tf::get_variable("b", {1});
      loss = tf::reduce_mean(tf::square(tf::matmul(x, w) + b - (3.0 * x - 1.0)), {.name = "loss"});
      tf::get_variable_scope().reuse_variables();  // the next tower finds w and b
      tower_grads.push_back(opt.compute_gradients(loss));
    }
  }
  const auto train_op = opt.apply_gradients(tf::average_gradients(tower_grads));
  const tf::Tensor summary = tf::summary::scalar("loss", loss);
  tf::summary::FileWriter writer("runs/towers", graph);
  tf::Session sess({.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
  sess.run(tf::global_variables_initializer());
  for (int step = 0; step < 200; ++step) {
    const auto [_, event] = sess.run({train_op, summary});
    writer.add_summary(event, step);
  }
  tf::train::Saver().save(sess, "runs/towers/model.ckpt", {.global_step = 200});
  for (const tf::Variable& v : tf::trainable_variables()) {
    std::printf("%s = %.3f\n", v.name().c_str(), sess.run(v).item<float>());
  }
}
