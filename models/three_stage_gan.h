#pragma once

#include <functional>
#include <vector>

#include "core/graph/operand.h"
#include "train/optimizer.h"

namespace towerflow::models::three_stage_gan {

/// A network that fills in holes in images, trained on towers in three stages: first only the
/// generator, then only the discriminator, then both. Each stage has its own loss, optimizer and
/// gradients; variables that a loss does not depend on have no gradient.

inline constexpr std::int64_t kImageSize = 8;

/// Builds two convolutions that fill in what a mask removed.
///
/// shapes   images [N, 8, 8, 1] -> as images, in 0 .. 1
Tensor build_generator(const Tensor& images);

/// Builds a convolution and a fully connected layer that tell real images from filled ones.
///
/// shapes   images [N, 8, 8, 1] -> logits [N, 1]
Tensor build_discriminator(const Tensor& images);

struct Losses {
  Tensor gen_only;    ///< depends on the generator
  Tensor discm_only;  ///< depends on both; only the discriminator is in the optimizer's var_list
  Tensor full;        ///< depends on both
};
Losses build_loss(const Tensor& images, const Tensor& generated, const Tensor& real_logits,
                  const Tensor& fake_logits);

/// The input of a tower.
struct Input {
  Tensor images;  ///< [N, 8, 8, 1], in 0 .. 1
  Tensor mask;    ///< like images, or [8, 8, 1]: 0 in the hole to fill in
};
using NextInput = std::function<Input()>;

struct TowersOptions {
  int num_gpus = 2;
  Operand learning_rate = 0.01;
  NextInput next_input{};  ///< if empty, placeholders `images` and `mask` in each tower
  /// Whether to use the original program's scopes, in which the discriminator of filled images
  /// reuses variables in `discriminator/fake_discriminator` that do not exist: ValueError with the
  /// nearest name.
  bool separate_scopes = false;
  /// Whether to leave the root scope in reuse mode, as the original program's loop does.
  /// TensorFlow's optimizers then cannot create their slots; those of this library can unless they
  /// are strict.
  bool leave_reuse_on = false;
  bool strict_slots = false;
};

struct Tower {
  Tensor images;
  Tensor mask;
  Losses losses;
};

/// One stage: the towers' gradients, their averages and the update.
struct Stage {
  std::vector<std::vector<GradAndVar>> tower_grads;
  std::vector<GradAndVar> grads;
  Operation train_op;
};

/// The training graph in the default graph.
struct Towers {
  std::vector<Tower> towers;
  Variable global_step;
  Stage gen_only, discm_only, full;
};
Towers build_towers(const TowersOptions& options);

}  // namespace towerflow::models::three_stage_gan
