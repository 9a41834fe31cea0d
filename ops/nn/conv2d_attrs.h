#pragma once

#include <array>
#include <vector>

#include "core/graph/attr_fields.h"
#include "core/graph/shape.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {

/// Attributes of the convolution ops, plain and depthwise.
struct Conv2DAttrs {
  std::array<int, 4> strides{1, 1, 1, 1};  ///< in the order of `format`
  Padding padding = Padding::valid;
  DataFormat format = DataFormat::nhwc;
  std::vector<std::int64_t> explicit_paddings{};
  std::array<int, 4> dilations{1, 1, 1, 1};  ///< in the order of `format`
  static constexpr auto fields =
      std::tuple{attr::required("strides", &Conv2DAttrs::strides),
                 attr::required("padding", &Conv2DAttrs::padding),
                 attr::field("data_format", &Conv2DAttrs::format),
                 attr::field("explicit_paddings", &Conv2DAttrs::explicit_paddings),
                 attr::field("dilations", &Conv2DAttrs::dilations)};

  ParsedPadding parsed_padding() const { return {padding, explicit_paddings}; }
};

/// Attributes of _FusedConv2D, into which a rewrite fuses Conv2D, BiasAdd and Relu.
struct FusedConv2DAttrs {
  Conv2DAttrs conv;
  bool relu = false;
  static constexpr auto fields = std::tuple{attr::included(&FusedConv2DAttrs::conv),
                                            attr::field("relu", &FusedConv2DAttrs::relu)};
};

/// Which filter a convolution has: [R,S,C / groups,K], or [R,S,C,M], which gives each of the C
/// channels M results of its own.
enum class ConvKind : std::uint8_t { plain, depthwise };

/// Returns the geometry of a convolution of images with a filter, both of known shape.
ConvGeometry conv_geometry(const Conv2DAttrs& attrs, const Shape& images, const Shape& filter,
                           ConvKind kind = ConvKind::plain);

}  // namespace towerflow::nn
