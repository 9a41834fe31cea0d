#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace towerflow::parallel::types {

struct LockstepOptions {
  int num_towers = 1;
  /// Returns the device of a tower; "/gpu:0", "/gpu:1", .. if not set.
  std::function<std::string(int tower)> device{};
  std::string name = "tower";  ///< prefix of the name scopes tower_0, tower_1, ..
};

/// Towers that are built side by side: each part of the model in every tower before the next part.
/// A layer that needs all towers at once, such as `sync_batch_normalization`, can then stand
/// between two parts; in a loop over whole towers, the tensors of the second do not exist yet when
/// the layer of the first is built.
///
///     const tf::parallel::Lockstep towers({.num_towers = 2});
///     auto x = towers.each([&](int tower) { return tf::layers::conv2d(images[tower], 16, 3,
///                                                                     {.name = "conv1"}); });
///     x = tf::parallel::sync_batch_normalization(towers, x, {.training = true, .name = "bn1"});
///     auto losses = towers.each([&](int tower) { return loss_of(x[tower], labels[tower]); });
///     auto loss = tf::add_n(losses) / 2.0;
///     auto grads = opt.compute_gradients(loss, {.colocate_gradients_with_ops = true});
///
/// The gradients are those of one loss: through a synchronised layer, the loss of each tower
/// depends on the examples of all. `compute_gradients` for each tower and their average give the
/// same numbers, but walk back through all towers N times.
///
/// Each part enters its scopes anew. A layer without a name of its own would get the same default
/// name in every part, so layers with variables need names.
///
/// errors   ValueError: less than one tower
/// source   tf.distribute's MirroredStrategy, which pauses the threads of its replicas instead
class Lockstep {
 public:
  explicit Lockstep(LockstepOptions options = {}, Site site = Site::current());

  int num_towers() const { return options_.num_towers; }
  /// Returns the name scopes, "tower_0/".
  const std::vector<std::string>& scopes() const { return scopes_; }

  /// Calls `build` for each tower, in its device and name scope; from the second tower on,
  /// `get_variable` finds the variables that the first one made. Returns what the calls return.
  std::vector<Tensor> each(const std::function<Tensor(int tower)>& build,
                           Site site = Site::current()) const;

 private:
  LockstepOptions options_;
  std::vector<std::string> scopes_;
};

}  // namespace towerflow::parallel::types
