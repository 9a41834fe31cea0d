#pragma once

#include <cstdint>
#include <string>

namespace towerflow::parallel {

/// Returns 50000 as "50,000".
std::string grouped(std::int64_t number);

}  // namespace towerflow::parallel
