#ifndef TOWERFLOW_PCH_GOLDEN_H
#define TOWERFLOW_PCH_GOLDEN_H
// Precompiled header of the golden tests: JSON and the whole public API.

#include <nlohmann/json.hpp>

#include "towerflow/tf.h"

#endif  // TOWERFLOW_PCH_GOLDEN_H
