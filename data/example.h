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
  /// Taken where the feature is absent; without one an absent feature is an error. Of `dtype`, with
  /// as many elements as `shape`.
  std::optional<Array> default_value = std::nullopt;
};

/// tf.VarLenFeature: an input feature with any number of values in an Example, also none.
struct VarLenFeature {
  DType dtype = DType::invalid;  ///< float32, int64 or string
};

/// tf.FixedLenSequenceFeature: any number of values of one shape, one after another.
struct FixedLenSequenceFeature {
  Shape shape{};                 ///< of one of them; fully known, with at least one element
  DType dtype = DType::invalid;  ///< float32, int64 or string
  /// Must be true: an Example without the feature has no values.
  bool allow_missing = false;
};

}  // namespace towerflow::types

namespace towerflow::data::types {

using FixedLenFeatures = std::vector<std::pair<std::string, FixedLenFeature>>;

/// Parses serialized tf.train.Example messages into Arrays, one for each feature asked for, in the
/// order asked; features of an Example that were not asked for are passed over. A key that comes
/// twice counts as its last. Safe to use from several threads.
///
/// InvalidArgumentError with TensorFlow's sentences: bytes that are no Example, a required feature
/// that is absent (or present without values of any kind), another dtype, another number of values.
class ExampleParser {
 public:
  /// Throws ValueError (no features, a key twice, a shape that is not fully known, a default of
  /// another size) and TypeError (a dtype that Examples do not have, a default of another dtype).
  explicit ExampleParser(FixedLenFeatures features);

  const FixedLenFeatures& features() const { return features_; }

  /// One Example; each Array has the feature's shape.
  std::vector<Array> parse_single(std::string_view serialized) const;
  /// The same into memory of the caller's, one address a feature; strings there are assigned to.
  void parse_single_into(std::string_view serialized, void* const* out) const;
  /// A batch; each Array has a first dimension of `serialized.size()` before the feature's shape.
  /// `names`, one for each Example or none, are used in messages only.
  std::vector<Array> parse(std::span<const std::string> serialized,
                           std::span<const std::string> names = {}) const;

 private:
  FixedLenFeatures features_;
  std::vector<std::int64_t> elements_;  ///< of one Example's value, by feature
};

/// Features of which each Example holds as many values as it likes: key and what it holds.
using VariableFeatures = std::vector<std::pair<std::string, VarLenFeature>>;

/// Gives the memory for the values of feature `index`, once their number is known.
using AllocateValues = std::function<void*(std::size_t index, std::int64_t count)>;

/// Makes serialized tf.train.Example messages; the features are written in the order of their
/// names, so that equal content gives equal bytes. Setting a name again replaces its value.
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
  /// Throws InvalidArgumentError for a message of 2 GiB and more.
  std::string serialize() const;
  void clear();

 private:
  struct Message;
  std::unique_ptr<Message> message_;
};

}  // namespace towerflow::data::types

namespace towerflow::data {

/// What a serialized Example holds, each feature with its kind and number of values: for messages
/// about its feature `wanted`, of which the nearest keys are named where it has none of that key.
/// "" for bytes that are no Example.
std::string describe_example(std::string_view serialized, const std::string& wanted);

/// Parses the values of variable features of one Example into memory that `allocate` gives, which
/// is asked once a feature, in their order; absent features have no values. A key that comes twice
/// counts as its last.
///
/// InvalidArgumentError: bytes that are no Example, another dtype.
void parse_variable(std::string_view serialized, const VariableFeatures& features,
                    const AllocateValues& allocate);

}  // namespace towerflow::data
