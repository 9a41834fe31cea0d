#include <algorithm>
#include <memory>
#include <utility>

#include "core/graph/error.h"
#include "models/char_lstm/char_lstm.h"
#include "towerflow/tf.h"

namespace towerflow::models::char_lstm {

Network inference(const Tensor& input_data, const NetworkOptions& options) {
  const std::int64_t classes = options.classes;
  const int rnn_size = options.rnn_size;
  std::vector<tf::nn::rnn_cell::RNNCell> cells;
  for (int i = 0; i < kNumLayers; ++i) cells.push_back(tf::nn::rnn_cell::BasicLSTMCell(rnn_size));
  const tf::nn::rnn_cell::MultiRNNCell cell(cells);
  const Dim batch_size = input_data.shape()[0];
  const auto initial_state =
      cell.zero_state(batch_size.known() ? ScalarOperand(batch_size.size())
                                         : ScalarOperand(tf::shape(input_data)[0]),
                      tf::float32);
  const auto [softmax_w, softmax_b] = tf::with(tf::variable_scope("rnnlm"), [&](auto&) {
    const Variable w = tf::get_variable("softmax_w", {rnn_size, classes});
    return std::pair(w, tf::get_variable("softmax_b", {classes}));
  });
  const Variable embedding = tf::get_variable("embedding", {classes, rnn_size});
  const Tensor inputs = tf::nn::embedding_lookup(embedding, input_data);
  Network network{.logits = {}, .initial_state = initial_state.flatten(), .final_state = {}};
  Tensor output;
  if (options.static_unrolling) {
    const auto steps = tf::split(inputs, input_data.shape()[1].size(), 1);
    std::vector<Operand> squeezed;
    for (const Tensor& step : steps) squeezed.push_back(tf::squeeze(step, {.axis = {1}}));
    const auto [outputs, last_state] =
        tf::nn::static_rnn(cell, squeezed, {.initial_state = initial_state, .scope = "rnnlm"});
    output = tf::reshape(tf::concat(outputs, 1), {-1, rnn_size});
    network.final_state = last_state.flatten();
  } else {
    const auto [outputs, last_state] =
        tf::nn::dynamic_rnn(cell, inputs, {.initial_state = initial_state, .scope = "rnnlm"});
    output = tf::reshape(outputs, {-1, rnn_size});
    network.final_state = last_state.flatten();
  }
  network.logits = tf::matmul(output, softmax_w) + softmax_b;
  return network;
}

std::int64_t classes_of_input() {
  return tf::get_collection<std::int64_t>(kClassesCollection).front();
}

namespace {

Tensor tower_cost(const Tensor& input_data, const Tensor& targets, const NetworkOptions& options) {
  const Tensor logits = inference(input_data, options).logits;
  const Tensor loss = tf::nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = tf::reshape(targets, {-1}), .logits = logits});
  const Tensor cost =
      tf::with(tf::name_scope("cost"), [&](auto&) { return tf::reduce_mean(loss); });
  tf::summary::histogram("logits", logits);
  tf::summary::histogram("loss", loss);
  tf::summary::scalar("train_loss", cost);
  return cost;
}

std::unique_ptr<tf::train::Optimizer> make_optimizer(const std::string& name, const Tensor& lr) {
  if (name == "sgd") return std::make_unique<tf::train::GradientDescentOptimizer>(lr);
  if (name == "momentum") return std::make_unique<tf::train::MomentumOptimizer>(lr, 0.9);
  if (name == "adagrad") return std::make_unique<tf::train::AdagradOptimizer>(lr);
  if (name == "adam") return std::make_unique<tf::train::AdamOptimizer>(lr);
  throw ValueError("there is no optimizer '" + name + "' for char_lstm",
                   {.hint = "it is sgd, momentum, adagrad or adam"});
}

}  // namespace

Towers build_towers(const TowersOptions& options, const InputFunction& input) {
  Towers towers;
  const auto cpu = tf::device("/cpu:0");
  towers.global_step = tf::train::get_or_create_global_step();
  const std::int64_t steps_per_epoch =
      std::max<std::int64_t>(options.examples / (options.batch_size * options.num_towers), 1);
  const Tensor lr = tf::train::exponential_decay(options.learning_rate, towers.global_step,
                                                 steps_per_epoch, kDecayRate, {.staircase = true});
  towers.learning_rate = lr;
  const auto opt = make_optimizer(options.optimizer, lr);

  const BatchFunction next_batch = input();
  std::vector<std::vector<GradAndVar>> tower_grads;
  {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < options.num_towers; ++i) {
      // Keeps the variables on the CPU, those of the cells too.
      const auto device = tf::device(tf::train::replica_device_setter(
          {.ps_tasks = 1, .ps_device = "/cpu:0", .worker_device = "/gpu:" + std::to_string(i)}));
      const auto scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
      const auto [input_data, targets] = next_batch();
      NetworkOptions network = options.network;
      if (network.classes == 0) network.classes = classes_of_input();
      const Tensor cost = tower_cost(input_data, targets, network);
      tf::get_variable_scope().reuse_variables();
      // Keeps the summaries of the last tower.
      towers.summaries = tf::get_collection(GraphKeys::SUMMARIES, scope);
      tower_grads.push_back(opt->compute_gradients(cost));
      towers.costs.push_back(cost);
    }
  }
  std::vector<OptionalGradient> grads;
  std::vector<Variable> tvars;
  for (const auto& [grad, var] : average_gradients(tower_grads)) {
    grads.push_back(grad);
    tvars.push_back(var);
  }
  towers.grads = tf::zip(tf::clip_by_global_norm(grads, options.grad_clip).list_clipped, tvars);
  towers.train_op = opt->apply_gradients(towers.grads, {.global_step = towers.global_step});
  return towers;
}

}  // namespace towerflow::models::char_lstm
