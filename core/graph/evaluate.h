#pragma once

#include "core/graph/array.h"
#include "core/graph/tensor.h"

namespace towerflow {

/// Returns the value of a tensor that is computed from constants by a few dozen pure operations at
/// most; an empty Array for any other tensor, or if the computation fails. Leaves the graph
/// unchanged. Shape rules use it for inputs whose value no ConstantRule gives. Defined above this
/// folder, in core/runtime/evaluate.cc. (EvaluateConstantTensor of TensorFlow's shape inference)
Array evaluate_constant(const Tensor& tensor);

}  // namespace towerflow
