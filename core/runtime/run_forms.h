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

/// The numbers of `value` in the dtype of the tensor that is fed. What cannot be cast, strings
/// where numbers should be, is given back as it is: the run refuses it, with the tensor's name.
Array fed_array(Array value, DType dtype);

}  // namespace towerflow

namespace towerflow::types {

/// One fed tensor and its value.
class Feed {
 public:
  /// Numbers of another dtype are cast to the tensor's, as NumPy casts them.
  template <std::convertible_to<Tensor> T>
  Feed(const T& tensor, Array value)  // NOLINT: {{x, v}}
      : tensor_(static_cast<Tensor>(tensor)),
        value_(fed_array(std::move(value), tensor_.dtype())) {}
  template <std::convertible_to<Tensor> T, class V>
  requires std::constructible_from<Nested, const V&> Feed(const T& tensor,
                                                          const std::vector<V>& values)  // NOLINT
      : Feed(tensor, Nested(std::vector<Nested>(values.begin(), values.end()))) {}
  /// A number, a string or nested braces, taken as the tensor's dtype.
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

/// The values of IndexedSlices. (tf.IndexedSlicesValue)
struct IndexedSlicesValue {
  Array values;
  Array indices;
  std::optional<Array> dense_shape;
};

/// The forms in which `run` of a session takes what it computes. `Self` has the one that they come
/// down to, `run(std::span<const Fetch>, const Feeds&)`, and says what it throws.
template <class Self>
class RunForms {
 public:
  /// Of a list in braces: as many Arrays.
  template <std::size_t N>
  std::array<Array, N> run(const Fetch (&fetches)[N], const Feeds& feeds = {}) {
    std::vector<Array> all = run_all(fetches, feeds);
    std::array<Array, N> results;
    std::move(all.begin(), all.end(), results.begin());
    return results;
  }
  /// Of one tensor, variable, gradient or operation.
  template <std::convertible_to<Fetch> T>
  requires(!std::same_as<T, IndexedSlices>) Array
      run(const T& fetch, const Feeds& feeds = {}, Site site = Site::current()) {
    const Fetch one = to_fetch(fetch, site);
    return run_all(std::span<const Fetch>(&one, 1), feeds)[0];
  }
  /// Of slices: their parts as they stand. A template, so that no list is taken for slices.
  template <std::same_as<IndexedSlices> T>
  IndexedSlicesValue run(const T& slices, const Feeds& feeds = {}) {
    std::vector<Fetch> parts{slices.values, slices.indices};
    if (slices.dense_shape) parts.emplace_back(*slices.dense_shape);
    std::vector<Array> made = run_all(parts, feeds);
    IndexedSlicesValue value{std::move(made[0]), std::move(made[1]), std::nullopt};
    if (slices.dense_shape) value.dense_shape = std::move(made[2]);
    return value;
  }
  /// Of tensors, variables, gradients or operations in a list.
  template <FetchLike T>
  std::vector<Array> run(const std::vector<T>& fetches, const Feeds& feeds = {},
                         Site site = Site::current()) {
    return run_all(to_fetches(fetches, site), feeds);
  }
  /// Of pairs of a gradient and its variable, as `compute_gradients` returns them.
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
  RunForms() = default;
  std::vector<Array> run_all(std::span<const Fetch> fetches, const Feeds& feeds) {
    return static_cast<Self*>(this)->run(fetches, feeds);
  }
};

}  // namespace towerflow::types
