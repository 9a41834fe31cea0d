#pragma once

#include <vector>

#include "tests/autodiff/gradient_cases.h"
#include "towerflow/tf.h"

namespace towerflow::testing {

/// A function in the default graph, with its gradients and theirs, built without knowing the sizes
/// of what is fed: where gradients have most nodes of their own.
struct OpenGradients {
  Feeds feeds;
  std::vector<Tensor> outputs;  ///< of the function, gradients, gradients of their squares
};

inline OpenGradients open_gradients(const GradientCase& one) {
  OpenGradients made;
  std::vector<Tensor> in;
  for (const Array& x : one.xs) {
    const Shape open = Shape::of_rank(x.shape().rank());
    in.push_back(tf::placeholder(x.dtype(), {.shape = open, .name = "x"}));
    made.feeds.emplace_back(in.back(), x);
  }
  const auto add_gradients = [&](const Tensor& y) {
    std::vector<Tensor> squares;
    for (const OptionalGradient& gradient : tf::gradients({y}, in)) {
      if (!gradient) continue;
      made.outputs.push_back(tf::convert_to_tensor(*gradient));
      squares.push_back(tf::reduce_sum(tf::square(made.outputs.back())));
    }
    return squares;
  };
  made.outputs.push_back(one.function(in));
  const std::vector<Tensor> squares = add_gradients(made.outputs[0]);
  if (!squares.empty()) add_gradients(tf::add_n(squares));
  return made;
}

}  // namespace towerflow::testing
