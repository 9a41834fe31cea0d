#pragma once

#include <tuple>

#include "core/graph/attr_fields.h"

namespace towerflow::image {

/// Attributes of the ops that resize images, and of their gradients.
struct ResizeAttrs {
  bool align_corners = false;
  bool half_pixel_centers = false;
  static constexpr auto fields =
      std::tuple{attr::field("align_corners", &ResizeAttrs::align_corners),
                 attr::field("half_pixel_centers", &ResizeAttrs::half_pixel_centers)};
};

/// Attributes of ResizeArea.
struct ResizeAreaAttrs {
  bool align_corners = false;
  static constexpr auto fields =
      std::tuple{attr::field("align_corners", &ResizeAreaAttrs::align_corners)};
};

}  // namespace towerflow::image
