#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/control/nest.h"

namespace towerflow::types {

/// The dtypes of the results of a mapped function, in order: one, or a list.
class MapDTypes {
 public:
  MapDTypes() = default;
  MapDTypes(DType dtype) : list_{dtype} {}                            // NOLINT: {.dtype = float32}
  MapDTypes(std::initializer_list<DType> dtypes) : list_(dtypes) {}   // NOLINT
  MapDTypes(std::vector<DType> dtypes) : list_(std::move(dtypes)) {}  // NOLINT

  const std::vector<DType>& list() const { return list_; }

 private:
  std::vector<DType> list_;
};

}  // namespace towerflow::types

namespace towerflow {

struct MapFnOptions {
  MapDTypes dtype{};             ///< of the results; by default, those of the elements
  int parallel_iterations = 10;  ///< recorded in the graph; has no other effect
  bool back_prop = true;         ///< whether `gradients` may go through the loop
  bool swap_memory = false;      ///< recorded in the graph
  bool infer_shape = true;       ///< whether all results must have the same shape
  std::string name{};
};

/// A function from flat lists to a flat list.
using FlatFunction = std::function<std::vector<Operand>(const std::vector<Tensor>&)>;

/// Builds the nodes of a `map_fn`.
std::vector<Tensor> build_map_fn(const std::vector<Operand>& elems, const FlatFunction& fn,
                                 const MapFnOptions& options, Site site);

/// Calls `fn` with a structure, or with the elements of a tuple or pair as its arguments.
template <class F, class Values>
auto call_with_structure(F& fn, const Values& values) {
  if constexpr (std::invocable<F&, const Values&>)
    return fn(values);
  else
    return std::apply(fn, values);
}

/// Returns the results of `fn` for the slices of `elems` along the first dimension, stacked. `fn`
/// is called once, now, in the body of a loop (`while_loop`):
///
///     const tf::Tensor y = tf::map_fn([&](tf::Tensor row) { return tf::matmul(a, row); }, x);
///
/// `elems` is a tensor [n, ..] or a structure of these (ops/control/nest.h). `fn` takes a slice
/// [..] or the structure of slices; a tuple may also be passed as separate arguments. It returns a
/// tensor, or a structure of as many values as `options.dtype` has.
///
/// shapes   elems [n, ..] -> [n, results..]
/// dtypes   elems all; results as `options.dtype` says, else as elems
/// grads    elems and the tensors that `fn` uses, unless `back_prop` is false
/// errors   ValueError: a scalar, no elements, other first sizes, another number of results,
/// results
///          of several shapes; at run time InvalidArgumentError: a result of another dtype
/// source   tf.map_fn
template <class F, class Elems>
auto map_fn(F&& fn, const Elems& elems, MapFnOptions options = {}, Site site = Site::current()) {
  using Slices = typename Nest<Elems>::Result;
  using Results = std::decay_t<decltype(call_with_structure(fn, std::declval<const Slices&>()))>;
  std::optional<Results> like;
  const std::vector<Tensor> stacked = build_map_fn(
      nest::flatten(elems, site),
      [&](const std::vector<Tensor>& slices) {
        like.emplace(call_with_structure(fn, nest::pack_sequence_as(elems, slices)));
        return nest::flatten(*like, site);
      },
      options, site);
  return nest::pack_sequence_as(*like, stacked);
}

}  // namespace towerflow
