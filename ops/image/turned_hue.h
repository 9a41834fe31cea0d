#pragma once

#include <algorithm>
#include <cmath>

#include "core/device/host_device.h"

namespace towerflow {

/// A colour whose hue was turned: its three numbers in descending order, and which channel has
/// which. The largest and the smallest number stay the same.
struct TurnedHue {
  float high = 0, middle = 0, low = 0;
  int sector = 0;  ///< of the circle, 0 to 5; in even ones the middle number grows with the hue

  /// Turns the hue of a colour by `turn` sixths of a circle.
  TOWERFLOW_HOST_DEVICE TurnedHue(float r, float g, float b, float turn)
      : high(std::max(r, std::max(g, b))), middle(g), low(std::min(r, std::min(g, b))) {
    if (r < g) {
      sector = b < r ? 1 : b > g ? 3 : 2;
      middle = sector == 1 ? r : sector == 3 ? g : b;
    } else {
      sector = b < g ? 0 : b > r ? 4 : 5;
      middle = sector == 0 ? g : sector == 4 ? r : b;
    }
    float hue = 0;
    if (high != low) {
      const float ratio = (middle - low) / (high - low);
      hue = static_cast<float>(sector) + (sector % 2 == 0 ? ratio : 1 - ratio);
    }
    hue += turn;
    if (!(hue >= 0 && hue < 6)) hue -= 6 * std::floor(hue / 6);
    if (!(hue >= 0 && hue < 6)) hue = 0;  // NaN, or a rounded result
    sector = static_cast<int>(hue);
    const float ratio = hue - static_cast<float>(sector);
    middle = low + (sector % 2 == 0 ? ratio : 1 - ratio) * (high - low);
  }
};

}  // namespace towerflow
