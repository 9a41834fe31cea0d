#pragma once

#include <vector>

#include "core/graph/op_def.h"

namespace towerflow {

/// Returns whether an op computes float16 and bfloat16: its shape rule and its kernels then need
/// know float32 only. These are the ops whose attribute T may be half and bfloat16 in TensorFlow;
/// ops that only move elements take any dtype and are not among them.
bool takes_short_floats(const OpDef& op);

/// Returns the outputs that the shape rule of an op finds. If the op takes short floats and some
/// inputs are, the rule sees float32 in their place, and its outputs have their dtype where the
/// signature says so.
///
/// errors   what the rule throws
std::vector<OutputSpec> infer_outputs(const OpDef& op, InferenceContext& context);

}  // namespace towerflow
