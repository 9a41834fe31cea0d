// Two towers with queues, a saver and summaries, as a user writes them. memory_test.py runs the
// program with little memory or while one of its requests to the system is refused.
//
//   tower_program FOLDER              trains three steps there
//   tower_program FOLDER KIND NUMBER  the same while the NUMBERth "object", "block" or "thread" is
//                                     refused, then once more in the same process
//
// Runs no kernel of oneDNN, which dereferences null pointers if it gets no memory.
//
// Prints "finished" or "error: .." and how many of each kind were taken. Exits with 3 if the
// process was unusable afterwards.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "tests/memory/failing_allocation.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow::testing;

constexpr int kSteps = 3, kBatch = 4;

/// Returns a batch of numbers and their targets from two queues with runners.
std::array<tf::Tensor, 2> inputs() {
  const tf::FIFOQueue rows = tf::train::range_input_producer(16, {.seed = 7});
  const tf::Tensor x = tf::cast(tf::Tensor(rows.dequeue()), tf::float32);
  return tf::train::shuffle_batch(
      {tf::reshape(x, {1}), x * 3.0F - 1.0F},
      {.batch_size = kBatch, .capacity = 24, .min_after_dequeue = 8, .num_threads = 2, .seed = 3});
}

void train(tf::Graph& graph, const std::string& folder) {
  tf::set_random_seed(1);
  const auto cpu = tf::device("/cpu:0");
  tf::train::MomentumOptimizer opt(0.001, 0.9);
  std::vector<std::vector<tf::GradAndVar>> tower_grads;
  tf::Tensor loss;
  {
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < 2; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      const auto [x, y] = inputs();
      const tf::Variable w = tf::get_variable("w", {1, 3}), b = tf::get_variable("b", {3});
      const tf::Tensor hidden = tf::nn::relu(x * w + b);
      loss = tf::reduce_mean(tf::square(tf::reduce_sum(hidden, 1) - y), {.name = "loss"});
      tf::get_variable_scope().reuse_variables();
      tower_grads.push_back(opt.compute_gradients(loss));
    }
  }
  const tf::Variable global_step = tf::train::get_or_create_global_step();
  const auto train_op =
      opt.apply_gradients(tf::average_gradients(tower_grads), {.global_step = global_step});
  const tf::Tensor summary = tf::summary::scalar("loss", loss);
  tf::train::Saver saver;
  tf::Session sess({.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
  sess.run(tf::global_variables_initializer());
  sess.run(tf::local_variables_initializer());
  tf::summary::FileWriter writer(folder, graph);
  tf::train::Coordinator coord;
  const auto threads = tf::train::start_queue_runners(sess, {.coord = &coord});
  int steps = 0;
  try {
    for (; steps < kSteps && !coord.should_stop(); ++steps) {
      const auto [_, event] = sess.run({train_op, summary});
      writer.add_summary(event, steps);
    }
    saver.save(sess, folder + "/model.ckpt", {.global_step = steps});
  } catch (...) {
    coord.request_stop(std::current_exception());
  }
  coord.request_stop();
  coord.join(threads);
  writer.close();
  sess.close();
  if (steps != kSteps) throw std::logic_error("stopped without an error");
}

/// Returns whether a failed program has left no open scope and no other default graph.
bool has_no_open_scopes(tf::Graph& graph) {
  const auto& scopes = graph.scopes();
  return scopes.name.empty() && scopes.devices.empty() && scopes.hidden_devices.empty() &&
         scopes.colocation.empty() && scopes.control.empty() && scopes.variable_scope == nullptr &&
         tf::get_variable_scope()->name().empty() && &tf::get_default_graph() == &graph;
}

/// Trains; returns whether no scope was left open. In the second attempt training must also finish.
bool train_or_clean_up(const std::string& folder, const char* when) {
  tf::Graph graph;
  const auto g = graph.as_default();
  bool finished = false;
  try {
    train(graph, folder);
    finished = true;
    std::printf("finished%s\n", when);
  } catch (const std::exception& error) {
    std::printf("error%s: %s\n", when, error.what());
  }
  fail_allocation(ResourceKind::object, -1);
  if (!has_no_open_scopes(graph)) std::printf("left open%s\n", when);
  return has_no_open_scopes(graph) && (finished || *when == '\0');
}

bool try_to_train(const std::string& folder, const char* when) {
  try {
    return train_or_clean_up(folder, when);
  } catch (const std::exception& error) {  // there is no graph yet
    fail_allocation(ResourceKind::object, -1);
    std::printf("error%s: %s\n", when, error.what());
    return *when == '\0';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) return 2;
  const std::string folder = argv[1];
  if (argc == 2) return try_to_train(folder, "") ? 0 : 3;
  const std::string kind = argv[2];
  fail_allocation(kind == "object"  ? ResourceKind::object
                  : kind == "block" ? ResourceKind::block
                                    : ResourceKind::thread,
                  std::atol(argv[3]));
  const bool clean = try_to_train(folder, "");
  std::printf("taken: %ld %ld %ld\n", allocation_count(ResourceKind::object),
              allocation_count(ResourceKind::block), allocation_count(ResourceKind::thread));
  std::fflush(stdout);
  return try_to_train(folder + "/again", " afterwards") && clean ? 0 : 3;
}
