#pragma once

#include <array>

#include "core/graph/attr_fields.h"
#include "core/graph/shape.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {

/// Attributes of Conv2D, Conv2DBackpropInput and Conv2DBackpropFilter.
struct Conv2DAttrs {
  std::array<int, 4> strides{1, 1, 1, 1};  ///< in the order of `format`
  Padding padding = Padding::valid;
  DataFormat format = DataFormat::nhwc;
  static constexpr auto fields = std::tuple{attr::required("strides", &Conv2DAttrs::strides),
                                            attr::required("padding", &Conv2DAttrs::padding),
                                            attr::field("data_format", &Conv2DAttrs::format)};
};

/// Attributes of _FusedConv2D, into which a rewrite fuses Conv2D, BiasAdd and Relu.
struct FusedConv2DAttrs {
  Conv2DAttrs conv;
  bool relu = false;
  static constexpr auto fields = std::tuple{attr::included(&FusedConv2DAttrs::conv),
                                            attr::field("relu", &FusedConv2DAttrs::relu)};
};

/// Returns the geometry of a convolution of NHWC images with a filter, both of known shape.
ConvGeometry conv_geometry(const Conv2DAttrs& attrs, const Shape& images, const Shape& filter);

}  // namespace towerflow::nn
