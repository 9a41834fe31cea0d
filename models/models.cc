#include "models/models.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "core/graph/nearest.h"

namespace towerflow::models {

const std::vector<const Model*>& all() {
  static const std::vector<const Model*> models{&mnist::kModel, &cifar10::kModel,
                                                &three_stage_gan::kModel};
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

WhoTrains who_trains(const Model& model, const TrainingGraph& graph) {
  if (!graph.trained.empty()) return who_trains_what(graph.trained);
  std::vector<TrainedLoss> trained;
  for (std::size_t i = 0; i < graph.stages.size(); ++i) {
    const std::string& name = model.stages[i].name;
    trained.push_back(
        {name.empty() ? "loss" : name, graph.stages[i].losses, graph.stages[i].train_op});
  }
  return who_trains_what(trained);
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

}  // namespace towerflow::models
