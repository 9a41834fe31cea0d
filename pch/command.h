#ifndef TOWERFLOW_PCH_COMMAND_H
#define TOWERFLOW_PCH_COMMAND_H
// Precompiled header of the command, most of whose files print text and JSON.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/options.h"

#endif  // TOWERFLOW_PCH_COMMAND_H
