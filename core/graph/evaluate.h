#pragma once

#include "core/graph/array.h"
#include "core/graph/tensor.h"

namespace towerflow {

/// The value of a tensor that is computed from constants by pure operations, some dozens of them at
/// most; an empty Array for any other, or where the computation fails. Nothing of the graph
/// changes. Shape rules fall back on it for inputs whose value no ConstantRule tells; defined above
/// this folder, in core/runtime/evaluate.cc. (EvaluateConstantTensor of TensorFlow's shape
/// inference)
Array evaluate_constant(const Tensor& tensor);

}  // namespace towerflow
