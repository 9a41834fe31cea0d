#include "models/digits.h"
#include "models/multi_gpu_model/multi_gpu_model.h"
#include "towerflow/tf.h"

namespace towerflow::models::multi_gpu_model {
namespace {

/// x w + b with new variables in scope `name`.
Tensor dense(const std::string& name, const Tensor& x, std::int64_t inputs, std::int64_t outputs) {
  return tf::with(tf::variable_scope(name), [&](auto&) {
    const Variable w = tf::get_variable("w", Shape{inputs, outputs});
    const Variable b =
        tf::get_variable("b", Shape{outputs}, {.initializer = tf::zeros_initializer()});
    return tf::matmul(x, w) + b;
  });
}

/// Returns the row of the table for each patch: its number and the pattern of its ink.
///
/// shapes   x [N, 784] -> [N, 98], int32
Tensor patch_ids(const Tensor& x) {
  const Tensor patches = tf::reshape(
      tf::transpose(tf::reshape(x, {-1, 14, 2, 7, 4}), {0, 1, 3, 2, 4}), {-1, int{kPatches}, 8});
  const Tensor ink = tf::cast(tf::greater(patches, 0.0), tf::int32);
  const Tensor codes = tf::reduce_sum(ink * tf::constant({1, 2, 4, 8, 16, 32, 64, 128}), 2);
  return codes + tf::range(int{kPatches}) * int{kPatchCodes};
}

/// The sum of a table's rows, one for each patch, and b.
Tensor embedded(const std::string& name, const Tensor& x, std::int64_t outputs) {
  return tf::with(tf::variable_scope(name), [&](auto&) {
    const Variable table = tf::get_variable("table", Shape{kPatches * kPatchCodes, outputs});
    const Variable b =
        tf::get_variable("b", Shape{outputs}, {.initializer = tf::zeros_initializer()});
    return tf::reduce_sum(tf::nn::embedding_lookup(table, patch_ids(x)), 1) + b;
  });
}

}  // namespace

Model::Model(bool is_training, const Config& config, const std::optional<Batch>& batch) {
  if (batch) {
    x = tf::placeholder_with_default(batch->features, {None, kImagePixels}, {.name = "x"});
    y = tf::placeholder_with_default(batch->labels, {None}, {.name = "y"});
  } else {
    x = tf::placeholder(tf::float32, {.shape = {None, kImagePixels}, .name = "x"});
    y = tf::placeholder(tf::int32, {.shape = {None}, .name = "y"});
  }
  const Tensor hidden =
      tf::tanh(config.embedding ? embedded("hidden", x, config.hidden)
                                : dense("hidden", x, kImagePixels, config.hidden));
  const Tensor logits = dense("output", hidden, config.hidden, kClasses);
  loss = tf::reduce_mean(
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = logits}),
      {.name = "loss"});
  predict = tf::argmax(logits, 1, {.name = "predict"});
  merge_summary = tf::summary::merge({tf::summary::scalar("loss_summary", loss)});
  if (is_training) grad = tf::gradients(loss, tf::trainable_variables());
  tf::add_to_collection("loss", loss);
  tf::add_to_collection("predict", predict);
  tf::add_to_collection("merge_summary", merge_summary);
}

std::vector<Tensor> average_gradients(const std::vector<std::vector<OptionalGradient>>& gradients) {
  std::vector<Tensor> averaged;
  for (std::size_t variable = 0; variable < gradients[0].size(); ++variable) {
    std::vector<Tensor> towers;
    for (const auto& tower : gradients) towers.push_back(tf::expand_dims(tower[variable], 0));
    averaged.push_back(tf::reduce_mean(tf::concat(towers, 0), 0));
  }
  return averaged;
}

std::vector<Tensor> average_packed(const std::vector<std::vector<OptionalGradient>>& gradients) {
  std::vector<Tensor> averaged;
  for (std::size_t variable = 0; variable < gradients[0].size(); ++variable) {
    std::vector<OptionalGradient> towers;
    for (const auto& tower : gradients) towers.push_back(tower[variable]);
    averaged.push_back(tf::reduce_mean(towers, 0));
  }
  return averaged;
}

void multi_gpu_model(const TowersOptions& options, Program& program) {
  std::vector<std::vector<OptionalGradient>> gradients;
  {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < options.num_gpus; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      std::optional<Batch> batch;
      if (options.next_batch) batch = options.next_batch();
      const Model model(true, options.config, batch);
      tf::add_to_collection("train_model", model);
      gradients.push_back(model.grad);
      if (options.reuse) tf::get_variable_scope().reuse_variables();
    }
  }
  const auto cpu = tf::device("cpu:0");
  const auto averaged =
      options.second_averager ? average_packed(gradients) : average_gradients(gradients);
  tf::train::GradientDescentOptimizer opt(options.learning_rate);
  const std::vector<Variable> variables = tf::trainable_variables();
  for (std::size_t i = 0; i < averaged.size(); ++i) {
    program.grads.push_back({averaged[i], variables[i]});
  }
  // Without this, TensorFlow leaves open whether a gradient that is still being computed reads a
  // variable before or after its update. Here a plan reads it before in any case.
  std::vector<Fetch> before;
  if (options.updates_wait) before.assign(averaged.begin(), averaged.end());
  const auto after = tf::control_dependencies(before);
  program.train_op = opt.apply_gradients(program.grads, {.global_step = program.global_step});
}

Program build(const TowersOptions& options) {
  Program program;
  program.global_step = tf::train::get_or_create_global_step();
  {
    const auto train_scope = tf::name_scope("train");
    program.train_scope = train_scope.name();
    multi_gpu_model(options, program);
  }
  const auto test_scope = tf::name_scope("test");
  program.test_scope = test_scope.name();
  const auto vars = tf::variable_scope(tf::get_variable_scope(), {.reuse = options.reuse});
  tf::add_to_collection("test_model", Model(false, options.config));
  return program;
}

std::vector<float> run_step(Session& session, const std::string& models, const std::string& scope,
                            const NextArrays& next_batch,
                            const std::optional<Operation>& train_op) {
  Feeds feeds;
  for (const Model& model : tf::get_collection<Model>(models)) {
    auto [x, y] = next_batch();
    feeds.emplace_back(model.x, std::move(x));
    feeds.emplace_back(model.y, std::move(y));
  }
  std::vector<Fetch> fetches;
  for (const Tensor& loss : tf::get_collection("loss", scope)) fetches.emplace_back(loss);
  const std::size_t losses = fetches.size();
  if (train_op) fetches.emplace_back(*train_op);
  const std::vector<Array> values = session.run(std::span<const Fetch>(fetches), feeds);
  std::vector<float> result;
  for (std::size_t i = 0; i < losses; ++i) result.push_back(values[i].item<float>());
  return result;
}

}  // namespace towerflow::models::multi_gpu_model
