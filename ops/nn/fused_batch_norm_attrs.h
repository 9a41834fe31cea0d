#pragma once

#include "core/graph/attr_fields.h"
#include "core/graph/shape.h"

namespace towerflow::nn {

/// Order of the dimensions of images or volumes.
enum class VolumeFormat : std::uint8_t { nhwc, nchw, ndhwc, ncdhw };

inline bool channels_first(VolumeFormat format) {
  return format == VolumeFormat::nchw || format == VolumeFormat::ncdhw;
}
inline std::size_t rank_of(VolumeFormat format) {
  return format == VolumeFormat::nhwc || format == VolumeFormat::nchw ? 4 : 5;
}
inline std::size_t volume_channel_axis(VolumeFormat format) {
  return channels_first(format) ? 1 : rank_of(format) - 1;
}

}  // namespace towerflow::nn

namespace towerflow {

template <>
inline constexpr std::array<const char*, 4> kAttrNames<nn::VolumeFormat>{"NHWC", "NCHW", "NDHWC",
                                                                         "NCDHW"};

}  // namespace towerflow

namespace towerflow::nn {

/// Attributes of FusedBatchNormGradV3.
struct BatchNormGradAttrs {
  float epsilon = 0.0001F;
  VolumeFormat format = VolumeFormat::nhwc;
  bool is_training = true;
  static constexpr auto fields =
      std::tuple{attr::field("epsilon", &BatchNormGradAttrs::epsilon),
                 attr::field("data_format", &BatchNormGradAttrs::format),
                 attr::field("is_training", &BatchNormGradAttrs::is_training)};
};

/// Attributes of FusedBatchNormV3.
struct BatchNormAttrs {
  BatchNormGradAttrs norm;
  float exponential_avg_factor = 1;
  static constexpr auto fields =
      std::tuple{attr::included(&BatchNormAttrs::norm),
                 attr::field("exponential_avg_factor", &BatchNormAttrs::exponential_avg_factor)};
};

}  // namespace towerflow::nn
