#include "ops/random/box_muller.h"

namespace towerflow::random {

void box_muller(const std::array<std::uint32_t, 4>& words, double& first, double& second) noexcept {
  const double u = std::max(unit_double(words[0], words[1]), kSmallestUniform);
  const double radius = std::sqrt(-2.0 * log_double(u));
  sincos_double(kTwoPi * unit_double(words[2], words[3]), first, second);
  first *= radius;
  second *= radius;
}

}  // namespace towerflow::random
