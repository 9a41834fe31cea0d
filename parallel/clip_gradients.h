#pragma once

#include <vector>

#include "train/optimizer.h"

namespace towerflow::parallel::types {

enum class ClipWay {
  by_value,        ///< each value to the range from -limit to limit (tf.clip_by_value)
  by_norm,         ///< each gradient to a norm of at most limit (tf.clip_by_norm)
  by_global_norm,  ///< all gradients by one factor (tf.clip_by_global_norm)
};

enum class ClipStage {
  per_tower,   ///< the gradients of each tower, on its device, before they are averaged
  after_mean,  ///< what is applied
};

/// How gradients are clipped. `Towers` reads the stage; `clip_gradients` clips what it gets.
struct GradientClip {
  ClipWay way = ClipWay::by_global_norm;
  double limit = 1;
  ClipStage stage = ClipStage::after_mean;
};

struct ClippedGradients {
  std::vector<GradAndVar> grads;
  Tensor global_norm;  ///< [], of the gradients before they were clipped
};

}  // namespace towerflow::parallel::types

namespace towerflow::parallel {

/// Throws ValueError unless the limit is a positive number.
void check_clip(const GradientClip& clip, Site site);

/// Clips gradients, of one tower or averaged. It adds the nodes of the function that
/// `ClipWay` names and, unless that is clip_by_global_norm, those of `global_norm`. Absent
/// gradients stay absent and count nothing. Slices stay slices; as in TensorFlow, their values
/// count as they are: rows that are there twice are not summed first.
///
/// shapes   gradients: as they are
/// dtypes   floating, all the same
/// errors   ValueError: a limit that is not a positive number
ClippedGradients clip_gradients(const std::vector<GradAndVar>& grads_and_vars,
                                const GradientClip& clip, Site site = Site::current());

}  // namespace towerflow::parallel
