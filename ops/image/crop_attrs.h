#pragma once

#include <string>
#include <tuple>

#include "core/graph/attr_fields.h"

namespace towerflow::image {

/// Attributes of CropAndResize.
struct CropAttrs {
  std::string method = "bilinear";
  float extrapolation_value = 0;
  static constexpr auto fields =
      std::tuple{attr::field("method", &CropAttrs::method),
                 attr::field("extrapolation_value", &CropAttrs::extrapolation_value)};
};

/// Attributes of CropAndResizeGradBoxes.
struct CropGradAttrs {
  std::string method = "bilinear";
  static constexpr auto fields = std::tuple{attr::field("method", &CropGradAttrs::method)};
};

/// Attributes of CropAndResizeGradImage.
struct CropGradImageAttrs {
  DType dtype = DType::float32;  ///< of the image
  std::string method = "bilinear";
  static constexpr auto fields = std::tuple{attr::required("T", &CropGradImageAttrs::dtype),
                                            attr::field("method", &CropGradImageAttrs::method)};
};

}  // namespace towerflow::image
