#pragma once

#include <functional>
#include <vector>

#include "core/graph/operand.h"
#include "train/optimizer.h"

namespace towerflow::models::three_stage_gan {

/// A network that fills in images, trained on towers in three stages: the generator by itself, the
/// discriminator by itself, both together. Each stage has a loss, an optimizer and gradients of
/// its own; what a loss does not reach has no gradient.

inline constexpr std::int64_t kImageSize = 8;

/// Two convolutions that fill in what a mask took away.
///
/// shapes   images [N, 8, 8, 1] -> as images, in 0 .. 1
Tensor build_generator(const Tensor& images);

/// A convolution and a fully connected layer that tell real images from filled ones.
///
/// shapes   images [N, 8, 8, 1] -> logits [N, 1]
Tensor build_discriminator(const Tensor& images);

struct Losses {
  Tensor gen_only;    ///< reaches the generator
  Tensor discm_only;  ///< reaches both: the discriminator is trained by its var_list
  Tensor full;        ///< reaches both
};
Losses build_loss(const Tensor& images, const Tensor& generated, const Tensor& real_logits,
                  const Tensor& fake_logits);

/// What a tower fills in.
struct Input {
  Tensor images;  ///< [N, 8, 8, 1], in 0 .. 1
  Tensor mask;    ///< as images, or [8, 8, 1]: 0 where something is to be filled in
};
using InputFunction = std::function<Input()>;

struct TowersOptions {
  int num_gpus = 2;
  Operand learning_rate = 0.01;
  InputFunction next_input{};  ///< placeholders `images` and `mask` in each tower when not given
  /// The source text's scopes: the discriminator of filled images is told to reuse what is in
  /// `discriminator/fake_discriminator`, where nothing is. ValueError, which names the nearest.
  bool separate_scopes = false;
  /// The source text's loop leaves the root scope in reuse. TensorFlow's optimizers then cannot
  /// make their slots; those here can unless they are strict.
  bool leave_reuse_on = false;
  bool strict_slots = false;
};

struct Tower {
  Tensor images;
  Tensor mask;
  Losses losses;
};

/// One stage: what each tower says about each variable, their means, and the update.
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
