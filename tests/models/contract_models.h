// Small models for the contract of the strategies: each tower has examples of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "models/char_lstm/char_lstm.h"
#include "models/resnet20/resnet20.h"
#include "tests/models/steps.h"

namespace towerflow::testing {

/// The towers that one process builds of a training on several.
struct TowerRange {
  int first = 0;
  int count = 4;
  /// Towers of the whole training.
  int all = 4;
};

/// Returns noise that differs between towers. Images of stripes would not do: many of their
/// normalized activations are all but 0, so that the last bit of an input decides which pass a
/// relu.
inline Array features_of(int tower, const Shape& shape) {
  Array array(float32, shape);
  std::minstd_rand random(static_cast<unsigned>(tower) + 1);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    array.data<float>()[i] =
        static_cast<float>(random() >> 7) / static_cast<float>(std::minstd_rand::max() >> 7);
  }
  return array;
}

inline Array labels_of(int tower, const Shape& shape, int below) {
  Array array(int32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    array.data<std::int32_t>()[i] = static_cast<std::int32_t>((i * 7 + 3 * tower) % below);
  }
  return array;
}

/// Returns a function that gives the batches of one tower after another.
inline models::BatchFunction batches(TowerRange towers,
                                     const std::function<Array(int tower)>& features,
                                     const std::function<Array(int tower)>& labels) {
  return [=, next = std::make_shared<int>(towers.first)] {
    const int tower = (*next)++;
    const auto cpu = tf::device("/cpu:0");
    const Tensor x = tf::constant(features(tower));
    return models::Batch{x, tf::constant(labels(tower))};
  };
}

inline Step resnet8(TowerRange range) {
  const auto input = batches(
      range,
      [](int tower) {
        return features_of(tower, {2, 32, 32, 3});
      },
      [](int tower) { return labels_of(tower, {2}, 10); });
  const auto towers = models::resnet20::build_towers(
      {.num_layers = 8, .num_towers = range.count, .batch_size = 2}, [&] { return input; });
  return {{towers.train_op, towers.loss}, {}};
}

/// The last tower has no gradient of the discriminator.
inline Step gan(TowerRange range) {
  const bool has_last = range.first + range.count == range.all;
  const auto towers = models::three_stage_gan::build_towers(
      {.num_gpus = range.count, .towers_without_discriminator = has_last ? 1 : 0});
  Step step{{towers.full.train_op}, {}};
  for (int i = 0; i < range.count; ++i) {
    const auto& tower = towers.towers[static_cast<std::size_t>(i)];
    step.fetches.emplace_back(tower.losses.full);
    step.feeds.emplace_back(tower.images, features_of(range.first + i, {2, 28, 28, 1}));
    step.feeds.emplace_back(tower.mask, Array::zeros(float32, {2, 28, 28, 1}));
  }
  return step;
}

inline Step mnist(TowerRange range) {
  const auto towers = models::mnist::build_towers(
      {.num_towers = range.count}, batches(
                                       range,
                                       [](int tower) {
                                         return features_of(tower, {2, 784});
                                       },
                                       [](int tower) { return labels_of(tower, {2}, 10); }));
  return {{towers.train_op, towers.losses[0]}, {}};
}

inline Step lstm(TowerRange range, bool static_unrolling) {
  const auto characters = [](int tower) { return labels_of(tower, {3, 5}, 11); };
  const auto input = batches(range, characters, characters);
  const auto towers = models::char_lstm::build_towers(
      {.num_towers = range.count,
       .network = {.classes = 11, .rnn_size = 8, .static_unrolling = static_unrolling},
       .batch_size = 3},
      [&] { return input; });
  return {{towers.train_op, towers.costs.back()}, {}};
}

inline const std::map<std::string, std::function<Step(TowerRange)>> kContractModels{
    {"gan", gan},
    {"lstm", [](TowerRange range) { return lstm(range, true); }},
    {"lstm_with_a_loop", [](TowerRange range) { return lstm(range, false); }},
    {"mnist", mnist},
    {"resnet8", resnet8}};

}  // namespace towerflow::testing
