#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "train/moving_average.h"
#include "train/optimizer.h"

namespace towerflow::models::update_ops {

/// Batch normalisation on towers, with four ways found in programs of collecting the updates of its
/// moving averages, and what each really collects.

enum class Collecting {
  /// In the loop, appends the whole collection so far to a list: tower 0's updates are added once
  /// per tower, so with two towers its averages move twice.
  extended_in_loop,
  /// Once, after the loop: every tower's updates.
  after_loop,
  /// In the loop, replaces the list by the collection so far: in the end every tower's, as after
  /// the loop.
  replaced_in_loop,
  /// Only the updates in the first tower's name scope.
  first_tower,
};

inline constexpr double kBatchNormDecay = 0.9;
inline constexpr double kBatchNormEpsilon = 0.001;
inline constexpr double kMovingAverageDecay = 0.9999;

/// Normalises by the moments of the batch and adds the updates of their moving averages to
/// UPDATE_OPS. Creates variables `beta`, `gamma`, `moving_mean`, `moving_variance` in the current
/// scope.
///
/// shapes   x [N, H, W, C] -> as x
Tensor batch_norm(const Tensor& x);

/// Builds a convolution with batch normalisation, then a fully connected layer.
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
  std::vector<Tensor> updates;       ///< as collected, including duplicates
  std::vector<Operation> train_ops;  ///< of the convolution, of the other layers
  Operation averages_op;             ///< moving averages of all trainable variables
  Operation train_op;                ///< runs all of these
};
Towers build_towers(const TowersOptions& options);

}  // namespace towerflow::models::update_ops
