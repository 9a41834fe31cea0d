#pragma once

#include "core/graph/op_def.h"
#include "core/graph/operand.h"

namespace towerflow {

/// For ops that take the shape of their output as a vector of sizes: random_uniform, fill, ...

/// The shape that input `input` of the op describes, for its shape rule: fully known where the
/// input's value is, else as much as its length tells; -1 is an unknown size.
/// Throws TypeError unless the input is int32 or int64; ValueError unless it is a vector of sizes
/// of at least -1 whose product fits into memory's address range.
Shape shape_from_input(const InferenceContext& context, std::size_t input);

/// What is known of the shape that `sizes` describes without running the graph, also where only
/// some of its elements are: `shape(x)` of a partly known x, a list that mixes numbers and tensors.
/// (tensor_util.constant_value_as_shape)
Shape static_shape_value(const Tensor& sizes);

/// What is known of the shape of a tensor, or of what slices are a part of, without making a tensor
/// of the operand; unknown for a value.
Shape static_shape(const Operand& operand);

/// `made` with what is known of its shape from its operand `sizes` on the tape, where a shape rule
/// sees whole values only.
Tensor with_described_shape(Tensor made, const Tensor& sizes, Site site);

}  // namespace towerflow
