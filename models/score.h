#pragma once

#include <cstdint>
#include <string>

#include "core/graph/tensor.h"
#include "models/model.h"

namespace towerflow::models {

/// Returns how many examples of a batch have their class among the `k` highest logits.
///
/// shapes   logits [N, classes], labels [N] -> []
/// dtypes   logits float32, labels int32 or int64 -> float32
Tensor count_right(const Tensor& logits, const Tensor& labels, int k = 1);

struct RightOptions {
  std::string examples = "images";
  std::string measure = "precision @ 1";  ///< what the share of those that are right is called
  std::string field = "precision_at_1";   ///< and in JSON
  int decimals = 4;
};

/// Returns the score "1960 of 2000 test images right, precision @ 1 = 0.9800", to which a model may
/// add.
Score score_of_right(std::int64_t examples, double right, const RightOptions& options = {});

}  // namespace towerflow::models
