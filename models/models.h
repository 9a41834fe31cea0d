#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace towerflow::models {

/// Returns all models that the command knows; new models are added here.
const std::vector<const Model*>& all();

/// Returns the model with that name. Throws ValueError with the nearest name if there is none.
const Model& find(const std::string& name);

namespace mnist {
extern const Model kModel;
}
namespace cifar10 {
extern const Model kModel;
}
namespace three_stage_gan {
extern const Model kModel;
}

}  // namespace towerflow::models
