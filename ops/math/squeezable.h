#pragma once

#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

/// Returns labels and predictions, without the last dimension of the one that has a dimension too
/// many, if its size may be 1. The predictions have `expected_rank_diff` more dimensions than the
/// labels if they fit. If a rank is unknown, the run decides.
/// (confusion_matrix.remove_squeezable_dimensions)
std::pair<Tensor, Tensor> remove_squeezable_dimensions(const Operand& labels,
                                                       const Operand& predictions,
                                                       int expected_rank_diff, Site site);

/// Returns whether the last dimension of a tensor may have size 1; the rank may be unknown.
bool may_be_squeezed(const Shape& shape);
/// Returns a tensor without its last dimension, of size 1.
Tensor without_last_dimension(const Tensor& tensor, Site site);

}  // namespace towerflow
