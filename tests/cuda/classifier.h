#pragma once

#include "tests/models/steps.h"
#include "towerflow/tf.h"

namespace towerflow::testing {

/// A step of gradient descent on a softmax of 4 rows, on /gpu:0.
struct Classifier {
  explicit Classifier(VariableHome home = VariableHome::host) {
    const auto gpu = tf::device("/gpu:0");
    weights = tf::Variable(tf::ones({3, 5}), {.name = "weights", .home = home});
    labels = tf::placeholder(tf::int32, {.shape = {4}});
    const Tensor logits = tf::matmul(tf::constant(ramp({4, 3})), weights);
    const Tensor loss = tf::reduce_mean(
        tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits}));
    train = tf::train::GradientDescentOptimizer(0.5F).minimize(loss);
  }
  tf::Variable weights;
  Tensor labels;
  Operation train;
};

}  // namespace towerflow::testing
