#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

/// Nested structures of tensors: what a branch returns, what goes around a loop, the state of a
/// cell. A structure is a tensor or what converts to one, a `std::vector`, `std::tuple`,
/// `std::pair` or `std::array` of structures, or a type with a specialization of `Nest`.
/// (tf.nest)
///
/// `Nest<T>::Result` is T with tensors for the values. `flatten` appends the values in order,
/// `pack` takes as many tensors as there are values and returns them in the structure of `like`.
template <class T>
struct Nest;

template <class T>
inline constexpr bool kTensorVector = false;
template <class T>
inline constexpr bool kTensorVector<std::vector<T>> = std::convertible_to<const T&, Tensor>;

/// A value of a structure: a tensor or what converts to one. A vector of tensors is a structure.
template <class T>
concept NestLeaf = std::constructible_from<Operand, const T&> && !kTensorVector<T>;

}  // namespace towerflow

namespace towerflow::types {

/// The tensors that `pack` takes, one after another. If `takes_names`, a TensorArray that is made
/// of its flow takes a name in the open scope, as in TensorFlow.
class PackedTensors {
 public:
  explicit PackedTensors(const std::vector<Tensor>& tensors, bool takes_names = false)
      : tensors_(tensors), takes_names_(takes_names) {}
  const Tensor& next() { return tensors_.at(at_++); }
  bool takes_names() const { return takes_names_; }

 private:
  const std::vector<Tensor>& tensors_;
  bool takes_names_;
  std::size_t at_ = 0;
};

}  // namespace towerflow::types

namespace towerflow {

template <NestLeaf T>
struct Nest<T> {
  using Result = Tensor;
  static void flatten(const T& value, Site site, std::vector<Operand>& values) {
    values.push_back(Operand(value).at(site));
  }
  static Tensor pack(const T&, PackedTensors& tensors) { return tensors.next(); }
};

template <class T>
requires(!NestLeaf<std::vector<T>>) struct Nest<std::vector<T>> {
  using Result = std::vector<typename Nest<T>::Result>;
  static void flatten(const std::vector<T>& items, Site site, std::vector<Operand>& values) {
    for (const T& item : items) Nest<T>::flatten(item, site, values);
  }
  static Result pack(const std::vector<T>& like, PackedTensors& tensors) {
    Result result;
    for (const T& item : like) result.push_back(Nest<T>::pack(item, tensors));
    return result;
  }
};

template <class T, std::size_t N>
struct Nest<std::array<T, N>> {
  using Result = std::array<typename Nest<T>::Result, N>;
  static void flatten(const std::array<T, N>& items, Site site, std::vector<Operand>& values) {
    for (const T& item : items) Nest<T>::flatten(item, site, values);
  }
  static Result pack(const std::array<T, N>& like, PackedTensors& tensors) {
    Result result;
    for (std::size_t i = 0; i < N; ++i) result[i] = Nest<T>::pack(like[i], tensors);
    return result;
  }
};

template <class... T>
struct Nest<std::tuple<T...>> {
  using Result = std::tuple<typename Nest<T>::Result...>;
  static void flatten(const std::tuple<T...>& items, Site site, std::vector<Operand>& values) {
    std::apply([&](const T&... item) { (Nest<T>::flatten(item, site, values), ...); }, items);
  }
  static Result pack(const std::tuple<T...>& like, PackedTensors& tensors) {
    // Braces evaluate their elements in order.
    return std::apply([&](const T&... item) { return Result{Nest<T>::pack(item, tensors)...}; },
                      like);
  }
};

template <class A, class B>
struct Nest<std::pair<A, B>> {
  using Result = std::pair<typename Nest<A>::Result, typename Nest<B>::Result>;
  static void flatten(const std::pair<A, B>& items, Site site, std::vector<Operand>& values) {
    Nest<A>::flatten(items.first, site, values);
    Nest<B>::flatten(items.second, site, values);
  }
  static Result pack(const std::pair<A, B>& like, PackedTensors& tensors) {
    typename Nest<A>::Result first = Nest<A>::pack(like.first, tensors);
    return {std::move(first), Nest<B>::pack(like.second, tensors)};
  }
};

namespace nest {

/// Returns the values of a structure in order. (tf.nest.flatten)
template <class T>
std::vector<Operand> flatten(const T& structure, Site site = Site::current()) {
  std::vector<Operand> values;
  Nest<T>::flatten(structure, site, values);
  return values;
}

/// Returns `tensors` in the structure of `like`, which has as many values; `takes_names`: see
/// PackedTensors. (tf.nest.pack_sequence_as)
template <class T>
typename Nest<T>::Result pack_sequence_as(const T& like, const std::vector<Tensor>& tensors,
                                          bool takes_names = false) {
  PackedTensors packed(tensors, takes_names);
  return Nest<T>::pack(like, packed);
}

/// Returns the tensor of a value; a number becomes a constant. For `map_structure`.
Tensor tensor_of_value(const Operand& value);

/// Returns the structure of the results of `function`, which takes one value and returns a tensor.
/// The values are those of one structure:
///
///     const auto doubled = tf::nest::map_structure([](tf::Tensor x) { return x * 2; },
///                                                  std::tuple(a, std::vector{b, c}));
///
/// (tf.nest.map_structure)
template <std::invocable<Tensor> F, class T>
typename Nest<T>::Result map_structure(F&& function, const T& structure,
                                       Site site = Site::current()) {
  std::vector<Tensor> results;
  for (const Operand& value : flatten(structure, site)) {
    results.push_back(function(tensor_of_value(value)));
  }
  return pack_sequence_as(structure, results);
}

}  // namespace nest
}  // namespace towerflow
