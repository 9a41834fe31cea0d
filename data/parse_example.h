#pragma once

#include <map>
#include <string>

#include "core/graph/operand.h"
#include "data/example.h"

namespace towerflow {

/// The features to take from an Example, by key.
using Features = std::map<std::string, FixedLenFeature>;

/// Parsed features, by key: `features["label"]`.
class ParsedFeatures {
 public:
  explicit ParsedFeatures(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}
  /// Throws KeyError with the nearest key.
  const Tensor& operator[](const std::string& key) const;
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  std::map<std::string, Tensor> tensors_;
};

struct ParseExampleOptions {
  std::string name{};
};

/// The features of one serialized tf.train.Example.
///
/// shapes   serialized [] -> by key the feature's shape
/// dtypes   serialized string; features float32, int64, string
/// grads    none: parsed values are data
/// errors   ValueError, TypeError: no features, shapes that are not fully known, defaults that do
///          not fit; InvalidArgumentError in a run: bytes that are no Example, a feature that is
///          absent without a default, another dtype or number of values
/// source   tf.parse_single_example
ParsedFeatures parse_single_example(const Operand& serialized, const Features& features,
                                    ParseExampleOptions options = {}, Site site = Site::current());

}  // namespace towerflow
