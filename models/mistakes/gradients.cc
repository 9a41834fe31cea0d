// Mistakes with gradients: absent ones, slices, and pairs that are not complete.
#include "models/mistakes/mistakes.h"
#include "towerflow/tf.h"

namespace towerflow::models::mistakes {
namespace {

std::vector<OptionalGradient> average_gradients(const std::vector<OptionalGradient>& towers) {
  return towers;
}

}  // namespace

std::string absent_gradient_averaged() {
  const Variable generator = tf::get_variable("generator/w", {3});
  tf::get_variable("discriminator/w", {3});
  tf::train::AdamOptimizer opt(0.1);
  const auto grads = opt.compute_gradients(tf::reduce_sum(generator));
  for (const auto& [grad, var] : grads) tf::expand_dims(grad, 0);
  return "";
}

std::string slices_averaged() {
  const Variable table = tf::get_variable("embedding", {5, 2});
  std::vector<OptionalGradient> towers;
  for (int i = 0; i < 2; ++i) {
    const Tensor words = tf::nn::embedding_lookup(table, tf::constant({i, 3}));
    towers.push_back(tf::gradients(tf::reduce_sum(words), table)[0]);
  }
  tf::reduce_mean({towers[0], towers[1]}, 0);
  return "";
}

std::string function_zipped() {
  // The text passes average_gradients, the function, where it means averaged_gradients, the list.
  const auto compiles = []<class T>(const T& gradients) {
    return requires { tf::zip(gradients, std::vector<Variable>{}); };
  };
  return compiles(average_gradients) ? "It compiles." : "It does not compile.";
}

std::string optimizer_forgotten() {
  const Variable conv = tf::get_variable("conv/w", {3}), fc = tf::get_variable("fc/w", {3});
  const Tensor loss = tf::reduce_sum(conv * fc);
  tf::train::GradientDescentOptimizer opt_conv(0.1), opt_fc(0.01);
  const Operation train_op_conv = opt_conv.minimize(loss, {.var_list = {conv}});
  opt_fc.minimize(loss, {.var_list = {fc}});
  const Operation train_op = tf::group({train_op_conv});  // and the other one?
  return tf::who_trains_what({{"loss", {loss}, train_op}}).text;
}

}  // namespace towerflow::models::mistakes
