#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/control/nest.h"
#include "ops/control/tuple.h"

namespace towerflow {

struct CondOptions {
  std::string name{};
};

/// Builds the nodes of a cond whose branches return their results as flat lists. A branch is
/// called with the pivot of its context. For `cond`.
std::vector<Tensor> build_cond(const Tensor& pred,
                               const std::function<std::vector<Operand>(const Tensor&)>& true_fn,
                               const std::function<std::vector<Operand>(const Tensor&)>& false_fn,
                               const CondOptions& options, Site site);

}  // namespace towerflow

namespace towerflow::types {

/// What `cond` returns for a branch that returns a T: the structure of the branch's results with
/// tensors for the values, and a bool tensor, true when the operation has run, for an Operation.
template <class T>
struct BranchResult {
  using Result = typename Nest<T>::Result;
  static std::vector<Operand> values(const T& result, const Tensor&, Site site) {
    return nest::flatten(result, site);
  }
  static Result pack(const T& like, const std::vector<Tensor>& merged) {
    return nest::pack_sequence_as(like, merged);
  }
};

template <>
struct BranchResult<Operation> {
  using Result = Tensor;
  static std::vector<Operand> values(const Operation& result, const Tensor& pivot, Site site) {
    return {Operand(with_dependencies({result}, pivot, {}, site), site)};
  }
  static Tensor pack(const Operation&, const std::vector<Tensor>& merged) { return merged.at(0); }
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns the results of `true_fn()` if `pred` is true, else those of `false_fn()`. Both are
/// called once, now; the session runs only the nodes that the branch taken has made. Nodes made
/// outside the functions run whatever `pred` is.
///
/// The functions return a tensor or what converts to one, an Operation, or a structure of these
/// (`std::vector`, `std::tuple`, see ops/control/nest.h); both return equally many values of the
/// same dtypes. A tensor made in a branch can be used outside only as its result.
///
/// shapes   pred bool [] -> the results of the branches; sizes that differ become unknown
/// grads    the tensors that the branches use: dy in the branch taken, zero in the other
/// errors   TypeError: pred is not a bool; ValueError: the numbers or dtypes of results differ
/// source   tf.cond
template <std::invocable TrueFn, std::invocable FalseFn>
auto cond(const Tensor& pred, TrueFn&& true_fn, FalseFn&& false_fn, CondOptions options = {},
          Site site = Site::current()) {
  using Taken = std::decay_t<std::invoke_result_t<TrueFn&>>;
  using Other = std::decay_t<std::invoke_result_t<FalseFn&>>;
  static_assert(!std::is_void_v<Taken> && !std::is_void_v<Other>,
                "a branch of tf::cond returns a value; return tf::no_op() if it has none");
  std::optional<Taken> like;
  const std::vector<Tensor> merged = build_cond(
      pred,
      [&](const Tensor& pivot) {
        like.emplace(true_fn());
        return BranchResult<Taken>::values(*like, pivot, site);
      },
      [&](const Tensor& pivot) { return BranchResult<Other>::values(false_fn(), pivot, site); },
      options, site);
  return BranchResult<Taken>::pack(*like, merged);
}

}  // namespace towerflow
