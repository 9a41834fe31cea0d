#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct ConfusionMatrixOptions {
  ByName by_name = ByName();
  std::optional<Operand> num_classes{};  ///< the largest label or prediction plus one if absent
  DType dtype = DType::int32;            ///< of the result
  std::string name{};
  std::optional<Operand> weights{};  ///< of each prediction; one if absent
};

/// Counts predictions by the class that was right (rows) and the class that was predicted
/// (columns). Drops a last dimension of size 1 that one of the two has and the other has not.
///
/// shapes   labels [n], predictions [n], weights [n] -> [num_classes, num_classes]
/// dtypes   labels, predictions numbers, which become int64; the result any number
/// grads    weights
/// errors   ValueError: weights of another shape; in a run InvalidArgumentError: a negative label
///          or prediction, or one of num_classes or more
/// source   tf.confusion_matrix
Tensor confusion_matrix(const Operand& labels, const Operand& predictions,
                        ConfusionMatrixOptions options = {}, Site site = Site::current());

}  // namespace towerflow
