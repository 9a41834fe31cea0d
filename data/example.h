#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/array.h"

namespace towerflow::types {

/// tf.FixedLenFeature: an input feature of the same shape in every Example.
struct FixedLenFeature {
  Shape shape{};                 ///< of one Example's value; fully known
  DType dtype = DType::invalid;  ///< float32, int64 or string
  /// The value if the feature is absent; without a default, an absent feature is an error. Must
  /// have dtype `dtype` and as many elements as `shape`.
  std::optional<Array> default_value = std::nullopt;
};

/// tf.VarLenFeature: an input feature with any number of values in an Example, including none.
struct VarLenFeature {
  DType dtype = DType::invalid;  ///< float32, int64 or string
};

/// tf.FixedLenSequenceFeature: a sequence of any number of values of one shape.
struct FixedLenSequenceFeature {
  Shape shape{};                 ///< of one value; fully known, with at least one element
  DType dtype = DType::invalid;  ///< float32, int64 or string
  /// Must be true: an Example without the feature has an empty sequence.
  bool allow_missing = false;
};

}  // namespace towerflow::types

namespace towerflow::data::types {

using FixedLenFeatures = std::vector<std::pair<std::string, FixedLenFeature>>;

/// Parses serialized tf.train.Example messages into Arrays, one for each requested feature, in the
/// order of the request; other features are ignored. If a key occurs twice, its last value counts.
/// Thread-safe.
///
/// Throws InvalidArgumentError with TensorFlow's messages for bytes that are not an Example, a
/// required feature that is absent (or has no values of any kind), another dtype, another number of
/// values.
class ExampleParser {
 public:
  /// Throws ValueError for no features, a duplicate key, a shape that is not fully known or a
  /// default of another size; TypeError for a dtype that Examples do not have or a default of
  /// another dtype.
  explicit ExampleParser(FixedLenFeatures features);

  const FixedLenFeatures& features() const { return features_; }

  /// Parses one Example; each Array has the feature's shape.
  std::vector<Array> parse_single(std::string_view serialized) const;
  /// The same, into memory of the caller, one address per feature; string elements must be
  /// constructed.
  void parse_single_into(std::string_view serialized, void* const* out) const;
  /// Parses a batch; each Array has the feature's shape with `serialized.size()` as an additional
  /// first dimension. `names`, one per Example or empty, are used in error messages only.
  std::vector<Array> parse(std::span<const std::string> serialized,
                           std::span<const std::string> names = {}) const;

 private:
  FixedLenFeatures features_;
  std::vector<std::int64_t> elements_;  ///< of one Example's value, per feature
};

/// Features with any number of values in each Example, with their keys.
using VariableFeatures = std::vector<std::pair<std::string, VarLenFeature>>;

/// Returns memory for the values of feature `index`, given their number.
using AllocateValues = std::function<void*(std::size_t index, std::int64_t count)>;

/// Builds serialized tf.train.Example messages. Features are written in the order of their names,
/// so that equal content gives equal bytes. Setting a name again replaces its value.
class ExampleBuilder {
 public:
  ExampleBuilder();
  ~ExampleBuilder();
  ExampleBuilder(const ExampleBuilder&) = delete;
  ExampleBuilder& operator=(const ExampleBuilder&) = delete;

  ExampleBuilder& int64_list(std::string_view name, const std::vector<std::int64_t>& values);
  ExampleBuilder& float_list(std::string_view name, const std::vector<float>& values);
  ExampleBuilder& bytes_list(std::string_view name, const std::vector<std::string>& values);
  ExampleBuilder& int64(std::string_view name, std::int64_t value);      ///< a list of one
  ExampleBuilder& bytes(std::string_view name, std::string_view value);  ///< a list of one
  /// Throws InvalidArgumentError for a message of 2 GiB or more.
  std::string serialize() const;
  void clear();

 private:
  struct Message;
  std::unique_ptr<Message> message_;
};

}  // namespace towerflow::data::types

namespace towerflow::data {

/// Lists the features of a serialized Example with their dtypes and numbers of values, for error
/// messages about feature `wanted`; if the Example lacks that key, names the nearest keys too.
/// Returns "" for bytes that are not an Example.
std::string describe_example(std::string_view serialized, const std::string& wanted);

/// Parses the values of variable-length features of one Example into memory from `allocate`, which
/// is called once per feature, in order; absent features have no values. If a key occurs twice, its
/// last value counts.
///
/// Throws InvalidArgumentError for bytes that are not an Example or another dtype.
void parse_variable(std::string_view serialized, const VariableFeatures& features,
                    const AllocateValues& allocate);

}  // namespace towerflow::data
