#pragma once

#include "core/graph/types.h"

namespace towerflow::data::types {

enum class Compression { none, gzip, zlib };

}  // namespace towerflow::data::types
