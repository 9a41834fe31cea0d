#pragma once

#include <optional>
#include <string>

#include "core/graph/collections.h"
#include "core/graph/operand.h"

namespace towerflow::losses::types {

/// How the weighted losses of all elements are reduced. (tf.losses.Reduction)
enum class Reduction {
  NONE,                    ///< not at all
  SUM,                     ///< their sum
  SUM_OVER_BATCH_SIZE,     ///< the sum divided by the number of losses
  MEAN,                    ///< the sum divided by the sum of the weights
  SUM_BY_NONZERO_WEIGHTS,  ///< the sum divided by the number of nonzero weights
  SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS,
};

/// Options of the losses.
struct LossOptions {
  Operand weights = 1.0;  ///< a scalar, or of the losses' rank with each size 1 or theirs
  std::optional<std::string> scope{};  ///< of the nodes; the loss's own name if absent
  std::optional<std::string> loss_collection = GraphKeys::LOSSES;  ///< none if absent
  Reduction reduction = Reduction::SUM_BY_NONZERO_WEIGHTS;
};

}  // namespace towerflow::losses::types

namespace towerflow::losses {

/// Multiplies losses by their weights, reduces them to one loss and adds it to `loss_collection`.
/// If a reduction would divide by 0, the loss is 0.
///
/// shapes   losses [..], weights as above -> [], with Reduction::NONE [..]
/// dtypes   numbers; computed in float32, the result has the dtype of losses
/// grads    losses, weights
/// errors   ValueError: weights that do not fit; UnimplementedError: an unknown rank; in a run
///          InvalidArgumentError: sizes that were not known and do not fit
/// source   tf.losses.compute_weighted_loss
Tensor compute_weighted_loss(const Operand& losses, LossOptions options = {},
                             Site site = Site::current());

/// Returns the number of losses whose weight is not 0: of all losses, or for each element of the
/// first dimension. (TensorFlow's _num_present)
Tensor num_present(const Tensor& losses, const Tensor& weights, bool per_batch, Site site);

}  // namespace towerflow::losses
