#pragma once

#include <concepts>
#include <map>
#include <string>
#include <variant>

#include "core/graph/operand.h"
#include "data/example.h"

namespace towerflow::types {

/// The features to take from an Example, by key.
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

/// A tensor that is zero but for some elements. (tf.SparseTensor)
struct SparseTensor {
  Tensor indices;      ///< int64 [n, rank]: where they are, in order
  Tensor values;       ///< [n]
  Tensor dense_shape;  ///< int64 [rank]
};

/// Parsed features of any kind, by key.
class ParsedMixedFeatures {
 public:
  ParsedMixedFeatures(std::map<std::string, Tensor> tensors,
                      std::map<std::string, SparseTensor> sparse);
  /// A FixedLenFeature or FixedLenSequenceFeature; KeyError with the nearest key.
  const Tensor& operator[](const std::string& key) const { return dense_[key]; }
  /// A VarLenFeature; KeyError when there is none of that key.
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

ParsedMixedFeatures parse_mixed_example(const Operand& serialized, const MixedFeatures& features,
                                        const ParseExampleOptions& options, Site site);

/// The features of one serialized tf.train.Example, those with any number of values among them.
///
/// shapes   serialized [] -> by key a FixedLenFeature's shape; a FixedLenSequenceFeature [n, ...];
///          of a VarLenFeature indices [n, 1], values [n], dense_shape [1]
/// dtypes   serialized string; features float32, int64, string
/// grads    none: parsed values are data
/// errors   those of features of fixed length; ValueError: a FixedLenSequenceFeature that does not
///          allow to be missing or has no elements; in a run InvalidArgumentError: a number of
///          values that is no multiple of its elements
/// source   tf.parse_single_example
template <std::same_as<MixedFeatures> T>  // a template takes no braces: those are `Features`
ParsedMixedFeatures parse_single_example(const Operand& serialized, const T& features,
                                         ParseExampleOptions options = {},
                                         Site site = Site::current()) {
  return parse_mixed_example(serialized, features, options, site);
}

}  // namespace towerflow
