#pragma once

#include <optional>
#include <string>

#include "core/graph/scopes.h"

namespace towerflow::losses {

/// Adds a loss that was computed elsewhere to the collection of the losses of `tf::losses`, or to
/// none if `loss_collection` is absent. (tf.losses.add_loss)
void add_loss(const Tensor& loss,
              const std::optional<std::string>& loss_collection = GraphKeys::LOSSES);

/// Returns the losses collected so far. With `scope`, only those whose name matches it at the
/// start: `get_losses(tower_scope)` gives those of one tower. (tf.losses.get_losses)
Collected<Tensor> get_losses(const std::optional<std::string>& scope = std::nullopt,
                             const std::string& loss_collection = GraphKeys::LOSSES);

/// Returns the losses of the variables' regularizers, filtered likewise: by default their names
/// begin with that of a variable, not of a tower. (tf.losses.get_regularization_losses)
Collected<Tensor> get_regularization_losses(const std::optional<std::string>& scope = std::nullopt);

struct RegularizationLossOptions {
  std::optional<std::string> scope{};
  std::string name = "total_regularization_loss";
};
/// Returns the sum of the regularization losses, 0 if there are none.
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
/// Returns the sum of all collected losses.
///
/// shapes   []     dtypes  that of the losses
/// grads    everything that they depend on
/// errors   ValueError: no loss; losses of different shapes
/// source   tf.losses.get_total_loss
Tensor get_total_loss(TotalLossOptions options = {}, Site site = Site::current());

}  // namespace towerflow::losses
