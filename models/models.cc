#include "models/models.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"
#include "core/graph/nearest.h"
#include "models/trained_losses.h"

namespace towerflow::models {

const std::vector<const Model*>& all() {
  static const std::vector<const Model*> models{
      &mnist::kModel,           &cifar10::kModel,    &resnet20::kModel,
      &three_stage_gan::kModel, &vaegan::kModel,     &multi_gpu_model::kModel,
      &batch_norm::kModel,      &inception3::kModel, &char_lstm::kModel};
  return models;
}

const Model& find(const std::string& name) {
  std::vector<std::string> names;
  for (const Model* model : all()) {
    if (model->name == name) return *model;
    names.push_back(model->name);
  }
  throw ValueError(fmt::format("there is no model '{}'", name),
                   {.hint = nearest_hint(name, names)});
}

std::vector<TrainedLoss> trained_losses(const Model& model, const TrainingGraph& graph) {
  if (!graph.trained.empty()) return graph.trained;
  std::vector<TrainedLoss> trained;
  for (std::size_t i = 0; i < graph.stages.size(); ++i) {
    // Stages may differ in the rate alone.
    if (i > 0 && graph.stages[i].train_op == graph.stages[i - 1].train_op) continue;
    const std::string& name = model.stages[i].name;
    trained.push_back(
        {name.empty() ? "loss" : name, graph.stages[i].losses, graph.stages[i].train_op});
  }
  return trained;
}

WhoTrains who_trains(const Model& model, const TrainingGraph& graph) {
  return who_trains_what(trained_losses(model, graph),
                         {.update_collections = graph.update_collections});
}

std::int64_t tower_batch_size(const Model& model, std::int64_t batch_size, int num_towers) {
  if (!model.split_batch) return batch_size;
  if (batch_size % num_towers != 0) {
    throw ValueError(
        fmt::format("the batch size must be divisible by the number of towers, got {} "
                    "and {}",
                    batch_size, num_towers));
  }
  return batch_size / num_towers;
}

std::string option_text(const std::string& name, const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return (*flag ? "--" : "without --") + name;
  if (const auto* text = std::get_if<std::string>(&value)) return "--" + name + " " + *text;
  return fmt::format("--{} {}", name, std::get<std::int64_t>(value));
}

const OptionValue& option_value(const Model& model, const OptionValues& values,
                                const std::string& name) {
  if (const auto it = values.find(name); it != values.end()) return it->second;
  for (const ModelOption& option : model.options) {
    if (option.name == name) return option.value;
  }
  throw ValueError(fmt::format("the model '{}' has no option '{}'", model.name, name));
}

namespace {

/// Returns the number of steps that an option gives to a stage; 0 if it has a share.
std::int64_t steps_of(const Model& model, const OptionValues& values, const StageInfo& stage) {
  if (stage.steps_option.empty()) return 0;
  return std::get<std::int64_t>(option_value(model, values, stage.steps_option));
}

}  // namespace

std::optional<std::int64_t> steps_of_stages(const Model& model, const OptionValues& values) {
  std::int64_t sum = 0;
  for (const StageInfo& stage : model.stages) {
    const std::int64_t steps = steps_of(model, values, stage);
    if (steps == 0) return std::nullopt;
    sum += steps;
  }
  return sum;
}

double rate_factor(const Model& model, const OptionValues& values, const StageInfo& stage) {
  const bool constant = !stage.constant_option.empty() &&
                        std::get<bool>(option_value(model, values, stage.constant_option));
  return constant ? 1 : stage.rate_factor;
}

std::vector<std::int64_t> ends_of_stages(const Model& model, const OptionValues& values,
                                         std::int64_t steps) {
  std::int64_t shared = steps, shares = 0, before = 0;
  for (const StageInfo& stage : model.stages) {
    const std::int64_t own = steps_of(model, values, stage);
    shared -= own;
    if (own == 0) shares += stage.end_percent - before;
    before = stage.end_percent;
  }
  std::vector<std::int64_t> ends;
  std::int64_t given = 0, percent = 0;
  before = 0;
  for (const StageInfo& stage : model.stages) {
    const std::int64_t own = steps_of(model, values, stage);
    given += own;
    if (own == 0) percent += stage.end_percent - before;
    before = stage.end_percent;
    const std::int64_t of_shares =
        shares == 0 ? 0 : std::max<std::int64_t>(shared, 0) * percent / shares;
    ends.push_back(std::min(given + of_shares, steps));
  }
  return ends;
}

}  // namespace towerflow::models
