#include "tests/models/programs.h"

#include "models/batch_norm/batch_norm.h"
#include "models/char_lstm/char_lstm.h"
#include "models/digits.h"
#include "models/mnist.h"
#include "models/multi_gpu_model/multi_gpu_model.h"
#include "models/three_stage_gan/three_stage_gan.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

/// Returns numbers between -1 and 1 that are the same in each run.
Array numbers(const Shape& shape) {
  Array array(float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    // Hashed, without a pattern: rounding would decide the maximum of nearly equal sums in a pool.
    std::uint64_t bits = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ULL;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    array.data<float>()[i] = static_cast<float>(bits >> 40) / 8388608.0F - 1.0F;
  }
  return array;
}

template <class T>
Array labels(const Shape& shape, std::int64_t classes) {
  Array array(dtype_of<T>(), shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    array.data<T>()[i] = static_cast<T>(i % classes);
  }
  return array;
}

/// Builds the MNIST model with fed images.
Program mnist() {
  Program program;
  const auto batch = [&] {
    const Tensor images = tf::placeholder(float32, {.shape = {8, models::kImagePixels}});
    const Tensor digits = tf::placeholder(int32, {.shape = {8}});
    program.feeds.emplace_back(images, numbers(images.shape()));
    program.feeds.emplace_back(digits, labels<std::int32_t>(Shape{8}, 10));
    return models::Batch{images, digits};
  };
  const auto towers = models::mnist::build_towers({.num_towers = 2}, batch);
  program.targets = {towers.train_op};
  program.outputs = towers.losses;
  return program;
}

Program three_stage_gan() {
  Program program;
  const auto towers = models::three_stage_gan::build_towers({});
  for (const auto& tower : towers.towers) {
    program.feeds.emplace_back(tower.images, numbers({4, 28, 28, 1}));
    program.feeds.emplace_back(tower.mask, Array::zeros(float32, {4, 28, 28, 1}));
    for (const Tensor& loss : {tower.losses.gen_only, tower.losses.discm_only, tower.losses.full}) {
      program.outputs.push_back(loss);
    }
  }
  program.targets = {towers.gen_only.train_op, towers.discm_only.train_op, towers.full.train_op};
  return program;
}

/// Builds the character LSTM, with loops.
Program char_lstm() {
  Program program;
  const auto batch = [&] {
    const Tensor input = tf::placeholder(int32, {.shape = {3, 5}});
    const Tensor targets = tf::placeholder(int32, {.shape = {3, 5}});
    program.feeds.emplace_back(input, labels<std::int32_t>(Shape{3, 5}, 4));
    program.feeds.emplace_back(targets, labels<std::int32_t>(Shape{3, 5}, 7));
    return models::Batch{input, targets};
  };
  const auto towers = models::char_lstm::build_towers(
      {.num_towers = 2, .network = {.classes = 7, .rnn_size = 4}, .examples = 30},
      [&] { return batch; });
  program.targets = {towers.train_op};
  program.outputs = towers.costs;
  return program;
}

Program multi_gpu_model() {
  Program program;
  const auto built = models::multi_gpu_model::build({.num_gpus = 2});
  for (const char* key : {"train_model", "test_model"}) {
    for (const auto& model : tf::get_collection<models::multi_gpu_model::Model>(key)) {
      program.feeds.emplace_back(model.x, numbers({6, models::kImagePixels}));
      program.feeds.emplace_back(model.y, labels<std::int32_t>(Shape{6}, 10));
      program.outputs.push_back(model.loss);
      program.outputs.push_back(model.predict);
    }
  }
  program.targets = {built.train_op};
  return program;
}

Program batch_norm() {
  Program program;
  const auto towers = models::batch_norm::build_towers({}, [&] {
    const Tensor images = tf::placeholder(float32, {.shape = {4, models::kImagePixels}});
    const Tensor digits = tf::placeholder(int32, {.shape = {4}});
    program.feeds.emplace_back(images, numbers(images.shape()));
    program.feeds.emplace_back(digits, labels<std::int32_t>(Shape{4}, 10));
    return models::Batch{images, digits};
  });
  program.outputs = towers.losses;
  program.targets = {towers.apply_gradient_op, towers.variables_averages_op};
  for (const Fetch& update : towers.updates) {
    program.targets.push_back(update.operation());
  }
  program.unordered_step = towers.train_op;
  return program;
}

Program slices() {
  Program program;
  const Tensor ids = tf::placeholder(int32, {.shape = {None}, .name = "ids"});
  program.feeds.emplace_back(ids, Array::of<std::int32_t>(Shape{4}, {1, 3, 1, 0}));
  const auto update = [&](const std::string& name, tf::train::Optimizer&& optimizer) {
    const tf::Variable table = tf::get_variable(name, {5, 2});
    const Tensor loss = tf::reduce_sum(tf::square(tf::gather(table, ids) - 1.0));
    program.outputs.push_back(loss);
    program.targets.push_back(optimizer.minimize(loss, {.name = "train_" + name}));
  };
  update("descent", tf::train::GradientDescentOptimizer(0.1));
  update("momentum", tf::train::MomentumOptimizer(0.1, 0.9));
  update("nesterov", tf::train::MomentumOptimizer(0.1, 0.9, {.use_nesterov = true}));
  update("adam", tf::train::AdamOptimizer(0.1));
  update("adagrad", tf::train::AdagradOptimizer(0.1));
  update("rms", tf::train::RMSPropOptimizer(0.1, {.momentum = 0.5}));
  update("centered", tf::train::RMSPropOptimizer(0.1, {.centered = true}));
  return program;
}

Program ops() {
  Program program;
  const Tensor x = tf::placeholder(float32, {.shape = {4, 6}, .name = "x"});
  program.feeds.emplace_back(x, numbers({4, 6}));
  const std::vector<Tensor> parts = tf::split(x, 3, 1);
  const Tensor joined = tf::concat({parts[2], parts[0]}, -1);
  const Tensor y = tf::stack(tf::unstack(tf::transpose(tf::reshape(joined, {2, -1, 4}), {1, 0, 2})),
                             {.axis = -1});
  program.outputs = {
      y,
      tf::strided_slice(tf::pad(y, {{1, 1}, {0, 2}, {0, 0}}), {0, 1, 0}, {3, 4, 2}, {1, 2, 1}),
      tf::cumsum(x, 1, {.exclusive = true, .reverse = true}),
      tf::one_hot(tf::argmax(x, 1), 6),
      tf::cast(tf::tile(tf::expand_dims(x, 0), {2, 1, 1}), float64),
      tf::gather(x, {1, 0}),
      tf::where(tf::greater(x, 0.25), tf::nn::elu(x), tf::nn::leaky_relu(x)),
      tf::reduce_max(tf::abs(x), 0, {.keepdims = true}),
      tf::nn::log_softmax(tf::clip_by_value(x, -0.5, 0.5))};
  return program;
}

}  // namespace

const std::map<std::string, Program (*)()>& programs() {
  static const std::map<std::string, Program (*)()> all{{"char_lstm", char_lstm},
                                                        {"mnist", mnist},
                                                        {"three_stage_gan", three_stage_gan},
                                                        {"multi_gpu_model", multi_gpu_model},
                                                        {"batch_norm", batch_norm},
                                                        {"slices", slices},
                                                        {"ops", ops}};
  return all;
}

}  // namespace towerflow::testing
