#pragma once

namespace towerflow::data {

enum class Compression { none, gzip, zlib };

}  // namespace towerflow::data
