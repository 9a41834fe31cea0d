#pragma once

#include "core/graph/export_form.h"

/// What a GraphDef has for ops that TensorFlow lacks: the nodes of its ops that compute the same
/// (`OpDef::export_form`). They take any shapes and ranks.
namespace towerflow::export_forms {

/// BroadcastGradientArgs, Sum and Reshape, as TensorFlow's gradients have them.
void sum_to_shape(FormWriter& form);
void reduced_shape(FormWriter& form);
void gathered_shape(FormWriter& form);
/// Rows of ids below 0 are zeros, as in TensorFlow's gradient of UnsortedSegmentSum.
void gather_or_zero(FormWriter& form);
void slice_grad(FormWriter& form);
void concat_begin(FormWriter& form);
/// One more dimension for each factor and one for the elements left out: memory grows by as much.
void product_of_others(FormWriter& form);
/// The conditional of TensorFlow's `Variable.initialized_value`.
void initialized_value(FormWriter& form);
/// A SparseApply op of TensorFlow's updates a row as often as it is named: the slices of each row
/// are added before, as TensorFlow's optimizers do.
void sparse_apply(FormWriter& form);
/// What TensorFlow's AdamOptimizer makes for slices.
void sparse_apply_adam(FormWriter& form);

}  // namespace towerflow::export_forms
