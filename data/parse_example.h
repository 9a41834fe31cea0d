#pragma once

#include <concepts>
#include <map>
#include <string>
#include <variant>

#include "core/graph/operand.h"
#include "data/example.h"
#include "ops/array/sparse_tensor.h"

namespace towerflow::types {

/// The features to parse from an Example, by key.
using Features = std::map<std::string, FixedLenFeature>;

/// Parsed features, by key: `features["label"]`.
class ParsedFeatures {
 public:
  explicit ParsedFeatures(std::map<std::string, Tensor> tensors);
  /// Throws KeyError with the nearest key.
  const Tensor& operator[](const std::string& key) const;
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  std::map<std::string, Tensor> tensors_;
};

/// Features of any kind, by key: `MixedFeatures{{"words", VarLenFeature{int64}}, ...}`.
using MixedFeatures =
    std::map<std::string, std::variant<FixedLenFeature, VarLenFeature, FixedLenSequenceFeature>>;

/// Parsed features of any kind, by key.
class ParsedMixedFeatures {
 public:
  ParsedMixedFeatures(std::map<std::string, Tensor> tensors,
                      std::map<std::string, SparseTensor> sparse);
  /// The tensor of a FixedLenFeature or FixedLenSequenceFeature. Throws KeyError with the nearest
  /// key.
  const Tensor& operator[](const std::string& key) const { return dense_[key]; }
  /// The tensor of a VarLenFeature. Throws KeyError if there is none with that key.
  const SparseTensor& sparse(const std::string& key) const;
  const std::map<std::string, Tensor>& tensors() const { return dense_.tensors(); }
  const std::map<std::string, SparseTensor>& sparse_tensors() const { return sparse_; }

 private:
  ParsedFeatures dense_;
  std::map<std::string, SparseTensor> sparse_;
};

}  // namespace towerflow::types

namespace towerflow {

struct ParseExampleOptions {
  std::string name{};
};

/// Parses one serialized tf.train.Example.
///
/// shapes   serialized [] -> per key the feature's shape
/// dtypes   serialized string; features float32, int64, string
/// grads    none: parsed values are data
/// errors   ValueError, TypeError: no features, shapes that are not fully known, defaults that do
///          not fit; InvalidArgumentError in a run: bytes that are not an Example, a feature that
///          is absent and has no default, another dtype or number of values
/// source   tf.parse_single_example
ParsedFeatures parse_single_example(const Operand& serialized, const Features& features,
                                    ParseExampleOptions options = {}, Site site = Site::current());

ParsedMixedFeatures parse_mixed_example(const Operand& serialized, const MixedFeatures& features,
                                        const ParseExampleOptions& options, Site site);

/// Parses one serialized tf.train.Example, including features with any number of values.
///
/// shapes   serialized [] -> per key: the shape of a FixedLenFeature; [n, ...] of a
///          FixedLenSequenceFeature; indices [n, 1], values [n], dense_shape [1] of a VarLenFeature
/// dtypes   serialized string; features float32, int64, string
/// grads    none: parsed values are data
/// errors   those of fixed-length features; ValueError: a FixedLenSequenceFeature without
///          allow_missing or without elements; InvalidArgumentError in a run: a number of values
///          that is not a multiple of its elements
/// source   tf.parse_single_example
template <std::same_as<MixedFeatures> T>  // not deduced from braces, which mean `Features`
ParsedMixedFeatures parse_single_example(const Operand& serialized, const T& features,
                                         ParseExampleOptions options = {},
                                         Site site = Site::current()) {
  return parse_mixed_example(serialized, features, options, site);
}

}  // namespace towerflow
