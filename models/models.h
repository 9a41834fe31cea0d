#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace towerflow::models {

/// All models that the command knows; a model is added here.
const std::vector<const Model*>& all();

/// The model of that name. Throws ValueError, which names the nearest.
const Model& find(const std::string& name);

namespace mnist {
extern const Model kModel;
}
namespace three_stage_gan {
extern const Model kModel;
}

}  // namespace towerflow::models
