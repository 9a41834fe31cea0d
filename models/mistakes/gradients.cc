// Mistakes with gradients: absent ones, slices, and pairs that are not complete.
#include <fmt/format.h>

#include "models/mistakes/mistakes.h"
#include "towerflow/tf.h"

namespace towerflow::models::mistakes {
namespace {

/// The averager of the text: a list for each tower becomes one list.
std::vector<OptionalGradient> average_gradients(
    const std::vector<std::vector<OptionalGradient>>& grads) {
  std::vector<OptionalGradient> averaged_grads;
  for (std::size_t variable = 0; variable < grads[0].size(); ++variable) {
    std::vector<Operand> grads_per_var;
    for (const auto& tower : grads) grads_per_var.emplace_back(tower[variable]);
    averaged_grads.emplace_back(tf::reduce_mean(tf::stack(grads_per_var), 0));
  }
  return averaged_grads;
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
  const Variable w = tf::get_variable("w", {3});
  const auto grads = tf::gradients(tf::reduce_sum(w), w);
  const auto averaged_gradients = average_gradients({grads, grads});
  const auto zips = []<class T>(const T& gradients) {
    constexpr bool compiles = requires { tf::zip(gradients, std::vector<Variable>{}); };
    return std::bool_constant<compiles>();
  };
  static_assert(decltype(zips(averaged_gradients))::value);
  static_assert(!decltype(zips(average_gradients))::value);  // the function, which the text zips
  const auto zipped = tf::zip(averaged_gradients, {w});
  return fmt::format(
      "zip(averaged_gradients, ..) gives {} pair; zip(average_gradients, ..) does not compile",
      zipped.size());
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
