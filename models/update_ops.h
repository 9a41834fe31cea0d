#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "train/moving_average.h"
#include "train/optimizer.h"

namespace towerflow::models::update_ops {

/// Batch normalisation on towers: four ways of collecting what updates its moving averages, as
/// they are found in programs, with what each of them really collects.

enum class Collecting {
  /// In the loop, a list made longer by all there is so far: tower 0's updates come once a tower,
  /// so with two towers its averages move twice.
  extended_in_loop,
  /// Once, behind the loop: every tower's updates.
  after_loop,
  /// In the loop, the list replaced each time: in the end every tower's, as behind the loop.
  replaced_in_loop,
  /// Those made below the first tower's name scope.
  first_tower,
};

inline constexpr double kBatchNormDecay = 0.9;
inline constexpr double kBatchNormEpsilon = 0.001;
inline constexpr double kMovingAverageDecay = 0.9999;

/// Normalises by the moments of the batch and lists the updates of their moving averages in
/// UPDATE_OPS. Variables `beta`, `gamma`, `moving_mean`, `moving_variance` in the open scope.
///
/// shapes   x [N, H, W, C] -> as x
Tensor batch_norm(const Tensor& x);

/// A convolution with batch normalisation, then a fully connected layer.
///
/// shapes   images [N, 6, 6, 2] -> [N, 3]
Tensor inference(const Tensor& images);

struct Tower {
  Tensor images;  ///< placeholder [N, 6, 6, 2]
  Tensor labels;  ///< placeholder [N], int64
  Tensor loss;
};

struct TowersOptions {
  int num_gpus = 2;
  Collecting collecting = Collecting::after_loop;
  double learning_rate = 0.5;
};

/// The training graph in the default graph.
struct Towers {
  std::vector<Tower> towers;
  Variable global_step;
  std::vector<Tensor> updates;       ///< as `collecting` found them, duplicates and all
  std::vector<Operation> train_ops;  ///< of convolutions, of the rest
  Operation averages_op;             ///< moving averages of all trainable variables
  Operation train_op;                ///< all of it
};
Towers build_towers(const TowersOptions& options);

}  // namespace towerflow::models::update_ops
