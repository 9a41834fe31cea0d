#pragma once

#include "core/graph/dtype.h"
#include "ops/random/seed.h"

namespace towerflow {

/// Attributes of RandomUniform, RandomUniformInt, RandomStandardNormal and TruncatedNormal.
struct DrawAttrs {
  random::Seeds seeds{};
  DType dtype = DType::float32;  ///< of the output
  bool operator==(const DrawAttrs&) const = default;
};

/// Attributes of RandomShuffle.
struct ShuffleAttrs {
  random::Seeds seeds{};
  bool operator==(const ShuffleAttrs&) const = default;
};

}  // namespace towerflow
