#pragma once

#include <optional>
#include <string>

#include "core/graph/collections.h"
#include "core/graph/operand.h"

namespace towerflow::losses::types {

/// What becomes of the weighted losses of all elements. (tf.losses.Reduction)
enum class Reduction {
  NONE,                    ///< they stay as they are
  SUM,                     ///< their sum
  SUM_OVER_BATCH_SIZE,     ///< that by the number of losses
  MEAN,                    ///< that by the sum of the weights
  SUM_BY_NONZERO_WEIGHTS,  ///< that by the number of losses whose weight is not 0
  SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS,
};

/// What all losses take.
struct LossOptions {
  Operand weights = 1.0;  ///< a scalar, or of the losses' rank: in each dimension 1 or their size
  std::optional<std::string> scope{};  ///< of the nodes; the loss's own name when absent
  std::optional<std::string> loss_collection = GraphKeys::LOSSES;  ///< none when absent
  Reduction reduction = Reduction::SUM_BY_NONZERO_WEIGHTS;
};

}  // namespace towerflow::losses::types

namespace towerflow::losses {

/// Losses, times their weights, as one loss, which is listed in `loss_collection`. Where a
/// reduction divides by 0 the loss is 0.
///
/// shapes   losses [..], weights as above -> [], with Reduction::NONE [..]
/// dtypes   numbers; computed in float32, the result has the dtype of losses
/// grads    losses, weights
/// errors   ValueError: weights that do not fit; UnimplementedError: an unknown rank;
///          InvalidArgumentError, in a run: sizes that were not known and do not fit
/// source   tf.losses.compute_weighted_loss
Tensor compute_weighted_loss(const Operand& losses, LossOptions options = {},
                             Site site = Site::current());

}  // namespace towerflow::losses
