#pragma once

#include <optional>
#include <string>

#include "core/graph/scopes.h"

namespace towerflow::losses {

/// Lists a loss that was computed elsewhere beside those of `tf::losses`; nowhere without a
/// collection. (tf.losses.add_loss)
void add_loss(const Tensor& loss,
              const std::optional<std::string>& loss_collection = GraphKeys::LOSSES);

/// The losses listed so far, those whose name matches `scope` at its start where one is given: of
/// one tower, `get_losses(tower_scope)`. (tf.losses.get_losses)
Collected<Tensor> get_losses(const std::optional<std::string>& scope = std::nullopt,
                             const std::string& loss_collection = GraphKeys::LOSSES);

/// The losses of the variables' regularizers, filtered in the same way: by default the name of a
/// variable, not that of a tower. (tf.losses.get_regularization_losses)
Collected<Tensor> get_regularization_losses(const std::optional<std::string>& scope = std::nullopt);

struct RegularizationLossOptions {
  std::optional<std::string> scope{};
  std::string name = "total_regularization_loss";
};
/// Their sum, 0 without any.
///
/// shapes   []     dtypes  that of the losses
/// grads    the variables
/// source   tf.losses.get_regularization_loss
Tensor get_regularization_loss(RegularizationLossOptions options = {}, Site site = Site::current());

struct TotalLossOptions {
  bool add_regularization_losses = true;
  std::string name = "total_loss";
  std::optional<std::string> scope{};  ///< filters both kinds of losses
};
/// The sum of all losses that are listed.
///
/// shapes   []     dtypes  that of the losses
/// grads    all that they depend on
/// errors   ValueError: no loss; losses of different shapes
/// source   tf.losses.get_total_loss
Tensor get_total_loss(TotalLossOptions options = {}, Site site = Site::current());

}  // namespace towerflow::losses
