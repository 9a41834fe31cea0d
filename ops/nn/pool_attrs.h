#pragma once

#include <array>

#include "core/graph/attr_fields.h"
#include "core/graph/shape.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {

/// Attributes of the pooling ops and their gradients.
struct PoolAttrs {
  std::array<int, 4> ksize{1, 1, 1, 1};  ///< in the order of `format`
  std::array<int, 4> strides{1, 1, 1, 1};
  Padding padding = Padding::valid;
  DataFormat format = DataFormat::nhwc;
  static constexpr auto fields = std::tuple{attr::required("ksize", &PoolAttrs::ksize),
                                            attr::required("strides", &PoolAttrs::strides),
                                            attr::required("padding", &PoolAttrs::padding),
                                            attr::field("data_format", &PoolAttrs::format)};
};

/// Attributes of _MaxPoolReluGrad, into which a rewrite fuses MaxPoolGrad, ReluGrad and
/// BiasAddGrad.
struct MaxPoolReluGradAttrs {
  PoolAttrs pool;
  bool channel_sums = false;  ///< output 1: the sum of output 0 over all but channels
  static constexpr auto fields =
      std::tuple{attr::included(&MaxPoolReluGradAttrs::pool),
                 attr::field("channel_sums", &MaxPoolReluGradAttrs::channel_sums)};
};

/// Returns the geometry of pooling over NHWC images of known shape.
PoolGeometry pool_geometry(const PoolAttrs& attrs, const Shape& images);

}  // namespace towerflow::nn
