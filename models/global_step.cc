#include "models/global_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/trained_losses.h"
#include "towerflow/tf.h"

namespace towerflow::models {
namespace {

std::vector<std::int64_t> divided(std::int64_t batch_size, int num_towers) {
  if (batch_size < num_towers) {
    throw ValueError(fmt::format("a batch of {} examples for {} towers", batch_size, num_towers));
  }
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < num_towers; ++i) {
    sizes.push_back(batch_size / num_towers + (i < batch_size % num_towers ? 1 : 0));
  }
  return sizes;
}

/// Returns the part of each tower.
std::vector<Batch> parts_of(const Batch& whole, const std::vector<std::int64_t>& sizes) {
  if (sizes.size() == 1) return {whole};
  const auto cpu = tf::device("/cpu:0");
  const std::vector<Tensor> features = tf::split(whole.features, sizes);
  const std::vector<Tensor> labels = tf::split(whole.labels, sizes);
  std::vector<Batch> parts;
  for (std::size_t i = 0; i < sizes.size(); ++i) parts.push_back({features[i], labels[i]});
  return parts;
}

}  // namespace

GlobalStep::GlobalStep(const Model& model, const GlobalStepOptions& options)
    : model_(model),
      options_(options),
      tower_sizes_(divided(options.batch_size, options.num_towers)) {
  const auto default_graph = graph_.as_default();
  tf::set_random_seed(options.seed);
  const auto homes = tf::variable_scope(tf::get_variable_scope(), {.home = options.devices.home});
  const auto shared = share_devices(options.num_towers, options.devices);
  const InputFunction input = [&]() -> BatchFunction {
    whole_ = model.batch_in_memory(options.batch_size);
    return [parts = parts_of(whole_, tower_sizes_), next = std::size_t{0}]() mutable {
      return parts.at(next++);
    };
  };
  built_ = model.build({.num_towers = options.num_towers,
                        .learning_rate = model.learning_rate,
                        .batch_size = tower_sizes_.front(),
                        .values = options.values},
                       input);
}

void GlobalStep::set_batches(std::vector<std::pair<Array, Array>> batches) {
  for (const auto& [features, labels] : batches) {
    if (whole_.features.shape().compatible(features.shape()) &&
        whole_.labels.shape().compatible(labels.shape())) {
      continue;
    }
    throw ValueError(
        fmt::format("{} takes features {} and labels {} here, but the files have {} and {}",
                    model_.name, whole_.features.shape().text(), whole_.labels.shape().text(),
                    features.shape().text(), labels.shape().text()));
  }
  batches_ = std::move(batches);
}

ComparedRun GlobalStep::run() const {
  const StageOps& stage = built_.stages.back();
  ComparedRun run{.step = {stage.train_op},
                  .config = session_config(options_.num_towers, options_.devices),
                  .grads = built_.grads,
                  .num_towers = options_.num_towers,
                  .tower = model_.tower};
  run.config.passes = options_.passes;
  run.step.insert(run.step.end(), stage.losses.begin(), stage.losses.end());
  if (!batches_.empty()) {
    run.feeds = [this](int step) -> Feeds {
      const auto& [features, labels] = batches_.at(static_cast<std::size_t>(step) - 1);
      return {{whole_.features, features}, {whole_.labels, labels}};
    };
  }
  return run;
}

EquivalenceRun GlobalStep::equivalence_run() const {
  return {run(), trained_losses(model_, built_), tower_sizes_};
}

std::string GlobalStep::text() const {
  const bool even = tower_sizes_.front() == tower_sizes_.back();
  return fmt::format(
      "{} {} of {} examples", tower_sizes_.size(), tower_sizes_.size() == 1 ? "tower" : "towers",
      even ? std::to_string(tower_sizes_[0]) : fmt::format("{}", fmt::join(tower_sizes_, ", ")));
}

std::vector<std::pair<Array, Array>> training_batches(const Model& model,
                                                      const std::string& data_dir,
                                                      std::int64_t batch_size, int count) {
  Graph graph;
  const auto default_graph = graph.as_default();
  const std::vector<std::string> files = model.data->files_of(data_dir, Part::train);
  const Batch batch = model.test_input(files, batch_size);
  Session session(graph);
  session.run({tf::global_variables_initializer(), tf::local_variables_initializer()});
  tf::train::Coordinator coord;
  std::vector<tf::train::Thread> threads;
  if (!tf::get_collection<tf::train::QueueRunner>(GraphKeys::QUEUE_RUNNERS).empty()) {
    threads = tf::train::start_queue_runners(session, {.coord = &coord});
  }
  std::vector<std::pair<Array, Array>> batches;
  try {
    while (static_cast<int>(batches.size()) < count) {
      auto [features, labels] = session.run({batch.features, batch.labels});
      if (features.shape().size(0) < batch_size) break;
      batches.emplace_back(std::move(features), std::move(labels));
    }
  } catch (const tf::errors::OutOfRangeError&) {  // all examples were read
  }
  coord.request_stop();
  coord.join(threads);
  if (static_cast<int>(batches.size()) < count) {
    throw ValueError(fmt::format("'{}' has {} batches of {} {} for training, and {} are needed",
                                 data_dir, batches.size(), batch_size, model.data->examples,
                                 count));
  }
  return batches;
}

}  // namespace towerflow::models
