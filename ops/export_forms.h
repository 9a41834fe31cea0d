#pragma once

#include "core/graph/export_form.h"

/// How a GraphDef expresses ops that TensorFlow lacks (`OpDef::export_form`): each function writes
/// nodes of TensorFlow ops that compute the same. They work for any shapes and ranks.
namespace towerflow::export_forms {

/// Writes BroadcastGradientArgs, Sum and Reshape, the nodes of TensorFlow's gradients.
void sum_to_shape(FormWriter& form);
void reduced_shape(FormWriter& form);
void gathered_shape(FormWriter& form);
/// Gives zeros for ids below 0, as TensorFlow's gradient of UnsortedSegmentSum does.
void gather_or_zero(FormWriter& form);
void slice_grad(FormWriter& form);
void concat_begin(FormWriter& form);
/// Adds one dimension for each factor and one for the element left out; memory grows accordingly.
void product_of_others(FormWriter& form);
/// Sums the slices of each row first, as TensorFlow's optimizers do: TensorFlow's SparseApply ops
/// would update a row once for each time its index occurs.
void sparse_apply(FormWriter& form);
/// Writes the nodes that TensorFlow's AdamOptimizer makes for IndexedSlices.
void sparse_apply_adam(FormWriter& form);

}  // namespace towerflow::export_forms
