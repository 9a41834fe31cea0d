#pragma once

#include <cmath>

#include "core/device/host_device.h"

namespace towerflow {

/// Where a row, or a column, of a crop lies in the image.
template <class Index>
struct CropPlace {
  float place = 0, share = 0;
  bool inside = false;
  Index before = 0, after = 0, closest = 0;

  /// `first` and `last` are the edges of the box, as parts of the image's size.
  TOWERFLOW_HOST_DEVICE CropPlace(float first, float last, Index size, Index crop_size, Index i) {
    const auto span = static_cast<float>(size - 1);
    if (crop_size > 1) {
      const float scale = (last - first) * span / static_cast<float>(crop_size - 1);
      place = first * span + static_cast<float>(i) * scale;
    } else {
      place =
          static_cast<float>(0.5 * static_cast<double>(first + last) * static_cast<double>(span));
    }
    inside = place >= 0 && place <= span;
    if (!inside) return;
    before = static_cast<Index>(std::floor(place));
    after = static_cast<Index>(std::ceil(place));
    closest = static_cast<Index>(std::round(place));
    share = place - static_cast<float>(before);
  }
};

}  // namespace towerflow
