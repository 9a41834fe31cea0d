#pragma once

#include <cstdint>
#include <tuple>

#include "core/graph/attr_fields.h"

namespace towerflow::nn {

/// Attributes of LRN and LRNGrad.
struct LrnAttrs {
  std::int64_t depth_radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5F;
  static constexpr auto fields = std::tuple{
      attr::field("depth_radius", &LrnAttrs::depth_radius), attr::field("bias", &LrnAttrs::bias),
      attr::field("alpha", &LrnAttrs::alpha), attr::field("beta", &LrnAttrs::beta)};
};

}  // namespace towerflow::nn
