#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/control/nest.h"

namespace towerflow {

struct ScanOptions {
  ByName by_name = ByName();
  int parallel_iterations = 10;  ///< recorded in the graph; has no other effect
  bool back_prop = true;         ///< whether `gradients` may go through the loop
  bool swap_memory = false;      ///< recorded in the graph
  bool infer_shape = true;       ///< whether all results must have the same shape
  bool reverse = false;          ///< whether to go from the last slice to the first
  std::string name{};
};

struct FoldOptions {
  ByName by_name = ByName();
  int parallel_iterations = 10;  ///< recorded in the graph; has no other effect
  bool back_prop = true;         ///< whether `gradients` may go through the loop
  bool swap_memory = false;      ///< recorded in the graph
  std::string name{};
};

/// A function from two flat lists, the accumulated values and the slices, to the next values.
using FlatStep =
    std::function<std::vector<Operand>(const std::vector<Tensor>&, const std::vector<Tensor>&)>;
using FlatValues = std::optional<std::vector<Operand>>;

/// Builds the nodes of a `scan`.
std::vector<Tensor> build_scan(const std::vector<Operand>& elems, const FlatValues& initializer,
                               const FlatStep& fn, const ScanOptions& options, Site site);
/// Builds the nodes of a `foldl`, or of a `foldr` if `from_right`.
std::vector<Tensor> build_fold(const std::vector<Operand>& elems, const FlatValues& initializer,
                               const FlatStep& fn, bool from_right, const FoldOptions& options,
                               Site site);

/// Whether a function takes the structures of accumulated values and of slices.
template <class Step, class Like, class Elems>
concept TakesSlices = std::is_invocable_v<Step&, const typename Nest<Like>::Result&,
                                          const typename Nest<Elems>::Result&>;

/// Calls `fn(accumulated, slices)` with the structures of `like` and `elems`.
template <class F, class Like, class Elems>
FlatStep flat_step(F& fn, const Like& like, const Elems& elems, Site site) {
  return [&fn, &like, &elems, site](const std::vector<Tensor>& accumulated,
                                    const std::vector<Tensor>& slices) {
    return nest::flatten(
        fn(nest::pack_sequence_as(like, accumulated), nest::pack_sequence_as(elems, slices)), site);
  };
}

/// Returns the running results of `fn` over the slices of `elems` along the first dimension,
/// stacked: a[0] = fn(initializer, elems[0]), a[i] = fn(a[i - 1], elems[i]). Without an initializer
/// a[0] is elems[0]. `fn` is called once, now, in the body of a loop:
///
///     const tf::Tensor sums = tf::scan([](tf::Tensor a, tf::Tensor x) { return a + x; }, x);
///
/// `elems` is a tensor [n, ..] or a structure of these (ops/control/nest.h). `fn(a, x)` takes the
/// structure of `initializer`, or of `elems` if there is none, and that of the slices; it returns
/// the first.
///
/// shapes   elems [n, ..], initializer [results..] -> [n, results..]
/// dtypes   all; results as initializer, else as elems
/// grads    elems, initializer and the tensors that `fn` uses, unless `back_prop` is false
/// errors   ValueError: a scalar, other first sizes, another number of results, results of several
///          shapes; TypeError: results of another dtype
/// source   tf.scan
template <class Step, class Elems>
requires TakesSlices<Step, Elems, Elems>
auto scan(Step&& fn, const Elems& elems, ScanOptions options = {}, Site site = Site::current()) {
  return nest::pack_sequence_as(
      elems, build_scan(nest::flatten(elems, site), std::nullopt, flat_step(fn, elems, elems, site),
                        options, site));
}
template <class Step, class Elems, class Initializer>
requires(!std::same_as<Initializer, ScanOptions> &&
         TakesSlices<Step, Initializer, Elems>) auto scan(Step&& fn, const Elems& elems,
                                                          const Initializer& initializer,
                                                          ScanOptions options = {},
                                                          Site site = Site::current()) {
  return nest::pack_sequence_as(
      initializer, build_scan(nest::flatten(elems, site), nest::flatten(initializer, site),
                              flat_step(fn, initializer, elems, site), options, site));
}

/// Returns the last result of `fn` over the slices of `elems` from first to last:
/// fn(.. fn(fn(initializer, elems[0]), elems[1]) .., elems[n - 1]). Without an initializer it
/// begins with elems[0].
///
/// shapes   elems [n, ..], initializer [results..] -> [results..]
/// dtypes   all; results as initializer, else as elems
/// grads    elems, initializer and the tensors that `fn` uses, unless `back_prop` is false
/// errors   ValueError: a scalar, another number of results, a result of another shape; TypeError:
///          results of another dtype
/// source   tf.foldl
template <class Step, class Elems>
requires TakesSlices<Step, Elems, Elems>
auto foldl(Step&& fn, const Elems& elems, FoldOptions options = {}, Site site = Site::current()) {
  return nest::pack_sequence_as(
      elems, build_fold(nest::flatten(elems, site), std::nullopt, flat_step(fn, elems, elems, site),
                        false, options, site));
}
template <class Step, class Elems, class Initializer>
requires(!std::same_as<Initializer, FoldOptions> &&
         TakesSlices<Step, Initializer, Elems>) auto foldl(Step&& fn, const Elems& elems,
                                                           const Initializer& initializer,
                                                           FoldOptions options = {},
                                                           Site site = Site::current()) {
  return nest::pack_sequence_as(
      initializer, build_fold(nest::flatten(elems, site), nest::flatten(initializer, site),
                              flat_step(fn, initializer, elems, site), false, options, site));
}

/// As `foldl`, from last to first: fn(.. fn(fn(initializer, elems[n - 1]), elems[n - 2]) ..,
/// elems[0]).
///
/// shapes   elems [n, ..], initializer [results..] -> [results..]
/// dtypes   all; results as initializer, else as elems
/// grads    elems, initializer and the tensors that `fn` uses, unless `back_prop` is false
/// errors   as foldl
/// source   tf.foldr
template <class Step, class Elems>
requires TakesSlices<Step, Elems, Elems>
auto foldr(Step&& fn, const Elems& elems, FoldOptions options = {}, Site site = Site::current()) {
  return nest::pack_sequence_as(
      elems, build_fold(nest::flatten(elems, site), std::nullopt, flat_step(fn, elems, elems, site),
                        true, options, site));
}
template <class Step, class Elems, class Initializer>
requires(!std::same_as<Initializer, FoldOptions> &&
         TakesSlices<Step, Initializer, Elems>) auto foldr(Step&& fn, const Elems& elems,
                                                           const Initializer& initializer,
                                                           FoldOptions options = {},
                                                           Site site = Site::current()) {
  return nest::pack_sequence_as(
      initializer, build_fold(nest::flatten(elems, site), nest::flatten(initializer, site),
                              flat_step(fn, initializer, elems, site), true, options, site));
}

}  // namespace towerflow
