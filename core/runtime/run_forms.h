#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

/// Casts the numbers of `value` to the dtype of the fed tensor. Values that cannot be cast, such as
/// strings for a numeric tensor, are returned unchanged; the run rejects them with the tensor's
/// name.
Array cast_fed_value(Array value, DType dtype);

}  // namespace towerflow

namespace towerflow::types {

/// A fed tensor and its value.
class Feed {
 public:
  /// Numbers of another dtype are cast to the tensor's as in NumPy.
  template <std::convertible_to<Tensor> T>
  Feed(const T& tensor, Array value)  // NOLINT: {{x, v}}
      : tensor_(static_cast<Tensor>(tensor)),
        value_(cast_fed_value(std::move(value), tensor_.dtype())) {}
  template <std::convertible_to<Tensor> T, class V>
  requires std::constructible_from<Nested, const V&> Feed(const T& tensor,
                                                          const std::vector<V>& values)  // NOLINT
      : Feed(tensor, Nested(std::vector<Nested>(values.begin(), values.end()))) {}
  /// A number, a string or nested braces, converted to the tensor's dtype.
  template <std::convertible_to<Tensor> T>
  Feed(const T& tensor, const Nested& value)  // NOLINT: {{x, {1, 2, 3}}}
      : tensor_(static_cast<Tensor>(tensor)), value_(to_array(value, tensor_.dtype())) {}
  template <std::convertible_to<Tensor> T>
  Feed(const T& tensor, std::initializer_list<Nested> value)  // NOLINT
      : Feed(tensor, Nested(value)) {}

  const Tensor& tensor() const { return tensor_; }
  const Array& value() const { return value_; }

 private:
  Tensor tensor_;
  Array value_;
};

using Feeds = std::vector<Feed>;

/// The values of fetched IndexedSlices. (tf.IndexedSlicesValue)
struct IndexedSlicesValue {
  Array values;
  Array indices;
  std::optional<Array> dense_shape;
};

/// The overloads of `run` of a session. `Self` provides the basic one, `run(std::span<const Fetch>,
/// const Feeds&)`, and documents what it throws.
template <class Self>
class RunOverloads {
 public:
  /// Runs a list of fetches in braces and returns as many Arrays.
  template <std::size_t N>
  std::array<Array, N> run(const Fetch (&fetches)[N], const Feeds& feeds = {}) {
    std::vector<Array> all = run_all(fetches, feeds);
    std::array<Array, N> results;
    std::move(all.begin(), all.end(), results.begin());
    return results;
  }
  /// Runs one tensor, variable, gradient or operation.
  template <std::convertible_to<Fetch> T>
  requires(!std::same_as<T, IndexedSlices>) Array
      run(const T& fetch, const Feeds& feeds = {}, Site site = Site::current()) {
    const Fetch one = to_fetch(fetch, site);
    return run_all(std::span<const Fetch>(&one, 1), feeds)[0];
  }
  /// Runs slices and returns their parts. A template, so that no list converts to slices.
  template <std::same_as<IndexedSlices> T>
  IndexedSlicesValue run(const T& slices, const Feeds& feeds = {}) {
    std::vector<Fetch> parts{slices.values, slices.indices};
    if (slices.dense_shape) parts.emplace_back(*slices.dense_shape);
    std::vector<Array> made = run_all(parts, feeds);
    IndexedSlicesValue value{std::move(made[0]), std::move(made[1]), std::nullopt};
    if (slices.dense_shape) value.dense_shape = std::move(made[2]);
    return value;
  }
  /// Runs a list of tensors, variables, gradients or operations.
  template <FetchLike T>
  std::vector<Array> run(const std::vector<T>& fetches, const Feeds& feeds = {},
                         Site site = Site::current()) {
    return run_all(to_fetches(fetches, site), feeds);
  }
  /// Runs pairs of a gradient and its variable, as `compute_gradients` returns them.
  template <class T>
  requires requires(const T& pair) {
    pair.grad;
    pair.var;
  }
  std::vector<std::pair<Array, Array>> run(const std::vector<T>& pairs, const Feeds& feeds = {},
                                           Site site = Site::current()) {
    std::vector<Fetch> fetches;
    for (const T& pair : pairs) {
      fetches.push_back(to_fetch(pair.grad, site));
      fetches.push_back(to_fetch(pair.var, site));
    }
    const std::vector<Array> values = run_all(fetches, feeds);
    std::vector<std::pair<Array, Array>> result;
    for (std::size_t i = 0; i < values.size(); i += 2) {
      result.emplace_back(values[i], values[i + 1]);
    }
    return result;
  }

 private:
  friend Self;
  RunOverloads() = default;
  std::vector<Array> run_all(std::span<const Fetch> fetches, const Feeds& feeds) {
    return static_cast<Self*>(this)->run(fetches, feeds);
  }
};

}  // namespace towerflow::types
