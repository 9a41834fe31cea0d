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
extern const models::Model kModel;
}
namespace cifar10 {
extern const models::Model kModel;
}
namespace resnet20 {
extern const models::Model kModel;
}
namespace three_stage_gan {
extern const models::Model kModel;
}
namespace vaegan {
extern const models::Model kModel;
}
namespace multi_gpu_model {
extern const models::Model kModel;
}
namespace batch_norm {
extern const models::Model kModel;
}
namespace inception3 {
extern const models::Model kModel;
}
namespace char_lstm {
extern const models::Model kModel;
}

}  // namespace towerflow::models
