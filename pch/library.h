#ifndef TOWERFLOW_PCH_LIBRARY_H
#define TOWERFLOW_PCH_LIBRARY_H
// Precompiled header of the library: what most files include anyway. A file must still include what
// it uses: scripts/checks/includes compiles each file without this header.

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
