// Training steps of three models on two towers.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "models/mnist.h"
#include "models/multi_gpu_model/multi_gpu_model.h"
#include "models/three_stage_gan/three_stage_gan.h"
#include "models/training.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow::testing {

inline Array ramp(const Shape& shape) {
  Array array(float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    array.data<float>()[i] = static_cast<float>((i * 37) % 101) / 101.0F;
  }
  return array;
}

/// A training step in the default graph.
struct Step {
  std::vector<Fetch> fetches;
  Feeds feeds;
};

inline Step mnist_step() {
  const auto towers = models::mnist::build_towers({.num_towers = 2}, [] {
    const auto cpu = tf::device("/cpu:0");
    const tf::Variable images(tf::constant(ramp({4, 784})), {.trainable = false, .name = "images"});
    const tf::Variable labels(tf::constant({3, 1, 4, 1}), {.trainable = false, .name = "labels"});
    return models::Batch{images, labels};
  });
  return {{towers.train_op, towers.losses[0], towers.losses[1]}, {}};
}

inline Step gan_step() {
  const auto towers = models::three_stage_gan::build_towers({.num_gpus = 2});
  Step step{{towers.full.train_op}, {}};
  for (const auto& tower : towers.towers) {
    step.fetches.emplace_back(tower.losses.full);
    step.feeds.emplace_back(tower.images, ramp({4, 28, 28, 1}));
    step.feeds.emplace_back(tower.mask, Array::zeros(float32, {4, 28, 28, 1}));
  }
  return step;
}

inline Step classifier_step() {
  const auto program = models::multi_gpu_model::build({.num_gpus = 2});
  Step step{{program.train_op}, {}};
  for (const auto& model : tf::get_collection<models::multi_gpu_model::Model>("train_model")) {
    step.fetches.emplace_back(model.loss);
    step.feeds.emplace_back(model.x, ramp({6, 784}));
    step.feeds.emplace_back(model.y, array_of(int32, {6}, {0, 1, 2, 3, 4, 5}));
  }
  return step;
}

inline const std::map<std::string, Step (*)()> kSteps = {
    {"classifier", classifier_step}, {"gan", gan_step}, {"mnist", mnist_step}};

/// Whether a training begins with the initial values, or with the initial values rounded anew: each
/// number of a float32 variable is multiplied by 1 + 1e-7 or 1 - 1e-7, at random. The values after
/// it show how far other rounding may move them.
enum class Start { as_initialized, rounded };

inline void round_variables(Session& session) {
  std::minstd_rand random(7);
  for (const tf::Variable& variable : tf::global_variables()) {
    if (variable.dtype() != float32) continue;
    Array values = session.run(variable);
    for (std::int64_t k = 0; k < values.elements(); ++k) {
      values.data<float>()[k] *= random() % 2 == 0 ? 1 + 1e-7F : 1 - 1e-7F;
    }
    session.run(tf::assign(variable, tf::constant(values)));
  }
}

/// Returns the results of two steps of a model and the variables after them; then calls `look`
/// with the session.
inline std::vector<Array> trained(
    const std::function<Step()>& make, const ConfigProto& config,
    const std::function<void(Session& session, const Step& step)>& look = {},
    Start start = Start::as_initialized) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(11);
  const Step step = make();
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  if (start == Start::rounded) round_variables(session);
  std::vector<Array> values = session.run(step.fetches, step.feeds);
  const auto add = [&](std::vector<Array> more) {
    std::move(more.begin(), more.end(), std::back_inserter(values));
  };
  add(session.run(step.fetches, step.feeds));
  const auto variables = tf::global_variables();
  add(session.run(std::vector<Fetch>(variables.begin(), variables.end())));
  if (look) look(session, step);
  return values;
}

/// Returns the largest difference of float32 elements, relative to b where |b| is above 1.
inline double largest_difference(const std::vector<Array>& a, const std::vector<Array>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].empty() || a[i].dtype() != float32) continue;
    for (std::int64_t k = 0; k < a[i].elements(); ++k) {
      const double x = a[i].data<float>()[k], y = b[i].data<float>()[k];
      largest = std::max(largest, std::abs(x - y) / std::max(1.0, std::abs(y)));
    }
  }
  return largest;
}

}  // namespace towerflow::testing
