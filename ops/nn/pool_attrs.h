#pragma once

#include <array>
#include <vector>

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

/// Attributes of MaxPool and MaxPoolGrad, which may have explicit paddings.
struct MaxPoolAttrs {
  PoolAttrs pool;
  std::vector<std::int64_t> explicit_paddings{};
  static constexpr auto fields =
      std::tuple{attr::included(&MaxPoolAttrs::pool),
                 attr::field("explicit_paddings", &MaxPoolAttrs::explicit_paddings)};
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

/// Attributes of MaxPoolGradWithArgmax.
struct ArgmaxGradAttrs {
  std::array<int, 4> ksize{1, 1, 1, 1};
  std::array<int, 4> strides{1, 1, 1, 1};
  Padding padding = Padding::valid;
  bool include_batch_in_index = false;
  static constexpr auto fields =
      std::tuple{attr::required("ksize", &ArgmaxGradAttrs::ksize),
                 attr::required("strides", &ArgmaxGradAttrs::strides),
                 attr::required("padding", &ArgmaxGradAttrs::padding),
                 attr::field("include_batch_in_index", &ArgmaxGradAttrs::include_batch_in_index)};

  PoolAttrs pool() const { return {.ksize = ksize, .strides = strides, .padding = padding}; }
};

/// Attributes of MaxPoolWithArgmax.
struct ArgmaxAttrs {
  ArgmaxGradAttrs pool;
  DType index = DType::int64;
  static constexpr auto fields =
      std::tuple{attr::included(&ArgmaxAttrs::pool), attr::field("Targmax", &ArgmaxAttrs::index)};
};

/// Returns the geometry of pooling over images of known shape. Channels that come first count as
/// images of one channel. `explicit_paddings` are those of MaxPoolAttrs.
PoolGeometry pool_geometry(const PoolAttrs& attrs, const Shape& images,
                           const std::vector<std::int64_t>& explicit_paddings = {});

}  // namespace towerflow::nn
