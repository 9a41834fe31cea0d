// Mistakes with collections: what they hold depends on when they are read, and with which scope.
#include <fmt/format.h>

#include <regex>
#include <set>

#include "models/mistakes/mistakes.h"
#include "towerflow/tf.h"

namespace towerflow::models::mistakes {

std::string losses_of_all_towers() {
  std::vector<Tensor> totals;
  for (int i = 0; i < 2; ++i) {
    const auto tower = tf::name_scope("tower_" + std::to_string(i));
    tf::add_to_collection("losses", tf::constant(1.0));
    totals.push_back(tf::add_n(tf::get_collection("losses")));  // without the tower's scope
  }
  Session session;
  return fmt::format("the loss of tower 0: {}, of tower 1: {}",
                     session.run(totals[0]).item<float>(), session.run(totals[1]).item<float>());
}

std::string updates_collected_twice() {
  std::vector<Operation> updates;
  const auto variables = tf::variable_scope(tf::get_variable_scope());
  for (int i = 0; i < 2; ++i) {
    const auto tower = tf::name_scope("tower_" + std::to_string(i));
    tf::layers::batch_normalization(tf::ones({4, 2}), {.training = true, .name = "bn"});
    tf::get_variable_scope().reuse_variables();
    const auto so_far = tf::get_collection<Operation>(tf::GraphKeys::UPDATE_OPS);
    updates.insert(updates.end(), so_far.begin(), so_far.end());
  }
  std::set<std::string> different;
  for (const Operation& update : updates) different.insert(update.name());
  return fmt::format("{} updates collected, {} of them different", updates.size(),
                     different.size());
}

std::string updates_run_by_nobody() {
  const Variable w = tf::get_variable("w", {2});
  const Tensor y = tf::layers::batch_normalization(tf::random_uniform({4, 2}, {.seed = 1}) * w,
                                                   {.training = true, .name = "bn"});
  const Tensor loss = tf::reduce_sum(y);
  const Operation train_op = tf::train::GradientDescentOptimizer(0.1).minimize(loss);
  return tf::who_trains_what({{"loss", {loss}, train_op}}).text;
}

std::string tags_stripped() {
  const auto tower = tf::name_scope("tower_0");
  const Tensor loss = tf::constant(1.0, {.name = "loss"});
  const std::string tag = std::regex_replace(loss.op().name(), std::regex("tower_[0-9]*/"), "");
  const Tensor summary = tf::summary::scalar(tag, loss);
  Session session;
  const auto written = tf::summary::parse_summary(session.run(summary).item<std::string>());
  return fmt::format("asked for '{}', written as '{}'", tag, written[0].tag);
}

}  // namespace towerflow::models::mistakes
