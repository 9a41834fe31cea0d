#pragma once

#include <functional>
#include <vector>

#include "core/graph/operand.h"
#include "models/data_set.h"
#include "train/optimizer.h"

namespace towerflow::models::three_stage_gan {

/// A network that fills in a hole in images of digits, trained on towers in three stages: first
/// only the generator, then only the discriminator, then both. Each stage has its own loss,
/// optimizer and gradients; variables that a loss does not depend on have no gradient.
///
/// The generator has 404,929 parameters, the discriminator 132,097.

inline constexpr const char* kTowerName = "Tower";
inline constexpr std::int64_t kImageSize = 28;
inline constexpr std::int64_t kHoleSize = 12;
/// The share of the discriminator's gradient that reaches the generator in the third stage.
inline constexpr double kAdversarialShare = 0.01;

/// Builds the completion network: convolutions to 7 x 7 positions, and transposed convolutions back
/// to the size of the image.
///
/// shapes   masked [N, 28, 28, 1], mask as masked, or [1, 28, 28, 1] -> as masked, in 0 .. 1
Tensor build_generator(const Tensor& masked, const Tensor& mask);

/// Builds three convolutions and a fully connected layer that tell real images from filled ones.
///
/// shapes   images [N, 28, 28, 1] -> logits [N, 1]
Tensor build_discriminator(const Tensor& images);

struct Losses {
  Tensor gen_only;    ///< depends on the generator: the square error in the hole
  Tensor discm_only;  ///< depends on both; only the discriminator is in the optimizer's var_list
  /// The sum of both. The discriminator's gradient reaches the generator with its sign turned and
  /// scaled by kAdversarialShare, so that one loss trains two networks that work against each
  /// other.
  Tensor full;
};

/// The input of a tower.
struct Input {
  Tensor images;  ///< [N, 28, 28, 1], in 0 .. 1
  Tensor mask;    ///< like images, or [1, 28, 28, 1]: 0 in the hole to fill in
};
using NextInput = std::function<Input()>;

/// Returns a batch of digits with a hole of 12 x 12 pixels: in the middle, or at a random place in
/// each image.
///
/// shapes   batch.features [N, 784], in -0.5 .. 0.5
Input holed_digits(const Batch& batch, bool random_hole);

struct TowersOptions {
  int num_gpus = 2;
  Operand learning_rate = 0.001;
  NextInput next_input{};  ///< if empty, placeholders `images` and `mask` in each tower
  /// Whether to use the original program's scopes, in which the discriminator of filled images
  /// reuses variables in `discriminator/fake_discriminator` that do not exist: ValueError with the
  /// nearest name.
  bool separate_scopes = false;
  /// Whether to leave the root scope in reuse mode, as the original program's loop does, with
  /// optimizers that cannot create their slots then, as TensorFlow's cannot.
  bool leave_reuse_on = false;
  /// Whether each tower collects `Tower_i/discriminator`, as the original program asks whether it
  /// must. No variable has such a name, so that the optimizer has nothing to train: ValueError.
  bool collect_by_tower = false;
  /// Whether to average as the CIFAR-10 tutorial does, whose function the original program takes
  /// over: it expands every gradient, also those that are absent: ValueError.
  bool tutorial_averager = false;
  /// The number of towers, from the last one, whose full loss is that of the generator, so that the
  /// discriminator has no gradient in them.
  int towers_without_discriminator = 0;
};

struct Tower {
  Tensor images;
  Tensor mask;
  Tensor completed;  ///< the images, with what the generator puts into the hole
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

/// Builds one tower and its losses; the first one creates the variables.
Tower build_tower(const TowersOptions& options);

/// Returns the images with the generator's pixels in the hole. Creates the generator's variables.
Tensor complete(const Input& input);

}  // namespace towerflow::models::three_stage_gan
