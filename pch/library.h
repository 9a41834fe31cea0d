#ifndef TOWERFLOW_PCH_LIBRARY_H
#define TOWERFLOW_PCH_LIBRARY_H
// Precompiled for every file of the library: what most of them include anyway. A file still
// includes what it uses: scripts/checks/includes compiles each alone and sees what is missing.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/device/backend.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "core/graph/operand.h"

#endif  // TOWERFLOW_PCH_LIBRARY_H
