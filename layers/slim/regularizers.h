#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::slim {

/// Returns the loss of weights, or nothing: a regularizer of get_variable and of layers.
using WeightRegularizer = std::function<std::optional<Tensor>(const Operand& weights)>;

struct RegularizerOptions {
  ByName by_name = ByName();
  std::string scope{};  ///< of the nodes; default: the function's name
};

/// Regularizers of weights.
///
/// shapes   weights [..] -> []
/// dtypes   floating
/// grads    weights
/// errors   ValueError: a scale below 0
/// source   slim.l1_regularizer, ..

/// scale * sum(|w|); nothing with a scale of 0
WeightRegularizer l1_regularizer(double scale, RegularizerOptions options = {},
                                 Site site = Site::current());
/// scale * sum(w^2) / 2; nothing with a scale of 0
WeightRegularizer l2_regularizer(double scale, RegularizerOptions options = {},
                                 Site site = Site::current());
/// The sum of both.
WeightRegularizer l1_l2_regularizer(double scale_l1, double scale_l2,
                                    RegularizerOptions options = {}, Site site = Site::current());
/// The sum of several.
WeightRegularizer sum_regularizer(std::vector<WeightRegularizer> regularizer_list,
                                  RegularizerOptions options = {}, Site site = Site::current());

}  // namespace towerflow::slim
