#pragma once

#include "core/graph/op_def.h"
#include "core/graph/operand.h"

namespace towerflow {

/// For ops that take the shape of their output as a vector of sizes: random_uniform, fill, ...

/// For shape functions: returns the shape that input `input` of the op describes. It is fully known
/// if the input's value is, else only as far as the input's length tells; -1 is an unknown size.
/// Throws TypeError unless the input is int32 or int64; ValueError unless it is a vector of sizes
/// of at least -1 whose product fits into the address space.
Shape shape_from_input(const InferenceContext& context, std::size_t input);

/// Returns what is known of the shape that `sizes` describes without running the graph, even if
/// only some elements are known: `shape(x)` of a partly known x, or a list of numbers and tensors.
/// (tensor_util.constant_value_as_shape)
Shape constant_value_as_shape(const Tensor& sizes);

/// Returns what is known of the shape of a tensor, or of the dense shape of slices, without
/// converting the operand to a tensor; unknown for a value.
Shape static_shape(const Operand& operand);

/// Sets the shape of `made` to what is known of it from its operand `sizes`. The op's shape
/// function cannot do this, since it sees only values that are known as a whole.
Tensor with_shape_from_sizes(Tensor made, const Tensor& sizes, Site site);

}  // namespace towerflow
