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

const OptionValue& option_value(const Model& model, const OptionValues& values,
                                const std::string& name) {
  if (const auto it = values.find(name); it != values.end()) return it->second;
  for (const ModelOption& option : model.options) {
    if (option.name == name) return option.value;
  }
  throw ValueError(fmt::format("the model '{}' has no option '{}'", model.name, name));
}

}  // namespace towerflow::models
