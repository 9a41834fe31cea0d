#pragma once

#include "core/graph/attr_fields.h"
#include "core/graph/dtype.h"
#include "ops/random/seed.h"

namespace towerflow {

/// Attributes of RandomUniform, RandomUniformInt, RandomStandardNormal and TruncatedNormal.
struct DrawAttrs {
  random::Seeds seeds{};
  DType dtype = DType::float32;  ///< of the output
  static constexpr auto fields =
      std::tuple{attr::included(&DrawAttrs::seeds), attr::required("dtype", &DrawAttrs::dtype)};
};

/// Attributes of RandomShuffle.
struct ShuffleAttrs {
  random::Seeds seeds{};
  static constexpr auto fields = std::tuple{attr::included(&ShuffleAttrs::seeds)};
};

/// Attributes of Multinomial.
struct MultinomialAttrs {
  random::Seeds seeds{};
  DType output_dtype = DType::int64;
  static constexpr auto fields =
      std::tuple{attr::included(&MultinomialAttrs::seeds),
                 attr::field("output_dtype", &MultinomialAttrs::output_dtype)};
};

}  // namespace towerflow
