#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "layers/convolutional.h"
#include "layers/core.h"
#include "layers/dynamic_rnn.h"
#include "layers/normalization.h"
#include "layers/pooling.h"
#include "layers/raw_rnn.h"
#include "layers/regularizers.h"
#include "layers/rnn.h"
#include "layers/rnn_cell_wrappers.h"
#include "towerflow/tf.h"

namespace towerflow::testing {

/// The inputs of every case of make_fixtures.py.
struct LayerInputs {
  Tensor x = placeholder(float32, {.shape = {2, 3}, .name = "x"});
  Tensor y = placeholder(float32, {.shape = {2, 3}, .name = "y"});
  Tensor z = placeholder(float32, {.shape = {2, 3}, .name = "z"});
  Tensor u = placeholder(float32, {.shape = {None, 3}, .name = "u"});
  Tensor h = placeholder(float32, {.shape = {2, 4}, .name = "h"});
  Tensor c = placeholder(float32, {.shape = {2, 4}, .name = "c"});
  Tensor s = placeholder(float32, {.shape = {2, 5, 3}, .name = "s"});
  Tensor im = placeholder(float32, {.shape = {2, 6, 6, 2}, .name = "im"});
  Tensor v = placeholder(float32, {.shape = {None, 6, 6, 2}, .name = "v"});
  Tensor d = placeholder(float64, {.shape = {2, 3}, .name = "d"});
  Tensor i = placeholder(int32, {.shape = {2, 3}, .name = "i"});
  Tensor l = placeholder(int64, {.shape = {2}, .name = "l"});
  Tensor b = placeholder(bool_, {.shape = {}, .name = "b"});
  Tensor q = placeholder(float32, {.name = "q"});

  std::vector<Tensor> floats() const { return {x, y, z, u, h, c, s, im, v, d}; }
};

/// The calls of make_fixtures.py in C++, by their keys. Each returns its results.
using LayerCases = std::map<std::string, std::function<std::vector<Tensor>(const LayerInputs&)>>;
LayerCases layers_cases();
LayerCases rnn_cases();
LayerCases slim_cases();
void add_rnn_cases_by_length(LayerCases& cases);
void add_dynamic_rnn_cases(LayerCases& cases);
void add_layer_training_cases(LayerCases& cases);
void add_slim_training_cases(LayerCases& cases);

/// The regularizer and the constraint of the cases.
inline Tensor half_l2(const Tensor& v) { return 0.5 * nn::l2_loss(v); }
inline Tensor doubled(const Tensor& v) { return 2.0 * v; }

/// Returns the tensors of both lists.
inline std::vector<Tensor> joined(std::vector<Tensor> first, const std::vector<Tensor>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Returns outputs and all tensors of the last states.
std::vector<Tensor> all_of(const nn::RnnResult& result);
std::vector<Tensor> all_of(const nn::BidirectionalRnnResult& result);

}  // namespace towerflow::testing
