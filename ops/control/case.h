#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/graph/error.h"
#include "core/graph/scopes.h"
#include "ops/control/cond.h"

namespace towerflow {

/// Conditions with the functions that make the results.
template <class R>
using CasePairs = std::vector<std::pair<Tensor, std::function<R()>>>;

/// Those whose functions return what an F returns; not deduced from.
template <class F>
using CasePairsFor = CasePairs<std::type_identity_t<std::decay_t<std::invoke_result_t<F&>>>>;

struct CaseOptions {
  ByName by_name = ByName();
  bool exclusive = false;  ///< whether it is an error if more than one condition is true
  std::string name{};
};

/// Returns the conditions of the pairs. Throws TypeError unless they are bools.
template <class R>
std::vector<Tensor> predicates_of(const CasePairs<R>& pairs, Site site) {
  std::vector<Tensor> predicates;
  for (const auto& pair : pairs) {
    if (pair.first.dtype() != DType::bool_) {
      throw TypeError("a condition of case_ must be a bool: " + pair.first.name(), {.site = site});
    }
    predicates.push_back(pair.first);
  }
  return predicates;
}

/// Returns an operation that fails if more than `n` of the conditions are true. For `case_`.
Operation assert_at_most_n_true(const std::vector<Tensor>& predicates, int n,
                                const std::string& message, Site site);
/// Returns operations that fail unless exactly the last condition is true. For `case_`.
std::vector<Operation> assert_only_last(const std::vector<Tensor>& predicates, Site site);

/// Adds the conds of the pairs from `at` on, each in the false branch of the one before.
template <class R, class Default>
typename BranchResult<R>::Result cond_chain(const CasePairs<R>& pairs, std::size_t at,
                                            Default& default_fn, Site site) {
  const auto& [pred, action] = pairs[at];
  if (at + 1 == pairs.size()) return cond(pred, action, default_fn, {}, site);
  return cond(
      pred, action, [&] { return cond_chain(pairs, at + 1, default_fn, site); }, {}, site);
}

/// Returns the results of the first function whose condition is true, else those of `default_fn`.
/// All functions are called once, now, and return results of one type, as those of `cond`.
///
///     tf::case_({{i < 0, [&] { return -x; }}, {i > 9, [&] { return x * 2; }}}, [&] { return x; })
///
/// grads    as `cond`
/// errors   TypeError: a condition is not a bool; InvalidArgumentError at run time: with
///          `exclusive`, several conditions are true
/// source   tf.case
template <std::invocable Default>
auto case_(const CasePairsFor<Default>& pairs, Default default_fn, CaseOptions options = {},
           Site site = Site::current()) {
  using R = std::decay_t<std::invoke_result_t<Default&>>;
  if (pairs.empty()) throw ValueError("case_ needs at least one condition", {.site = site});
  const std::vector<Tensor> predicates = predicates_of(pairs, site);
  Graph& graph = pairs[0].first.graph();
  const NameScope scope(graph, options.name.empty() ? "case" : options.name, site);
  if (!options.exclusive) return cond_chain<R>(pairs, 0, default_fn, site);
  const auto after = control_dependencies(
      {assert_at_most_n_true(predicates, 1, "Input error: exclusive=True", site)}, site);
  return cond_chain<R>(pairs, 0, default_fn, site);
}

/// Like `case_`, without a default: `case_without_default<tf::Tensor>({{p, f}, {q, g}})`. It is an
/// InvalidArgumentError at run time if no condition is true.
template <class R>
auto case_without_default(CasePairs<R> pairs, CaseOptions options = {},
                          Site site = Site::current()) {
  if (pairs.empty()) throw ValueError("case_ needs at least one condition", {.site = site});
  const std::vector<Tensor> predicates = predicates_of(pairs, site);
  Graph& graph = pairs[0].first.graph();
  const NameScope scope(graph, options.name.empty() ? "case" : options.name, site);
  const std::function<R()> last = pairs.back().second;
  pairs.pop_back();
  const std::function<R()> checked = [&] {
    const auto after = control_dependencies(assert_only_last(predicates, site), site);
    return last();
  };
  using Result = typename BranchResult<R>::Result;
  const auto chain = [&]() -> Result {
    if (pairs.empty()) return Result(checked());
    return cond_chain<R>(pairs, 0, checked, site);
  };
  if (!options.exclusive) return chain();
  const auto after =
      control_dependencies({assert_at_most_n_true({predicates.begin(), predicates.end() - 1}, 1,
                                                  "Input error: exclusive=True", site)},
                           site);
  return chain();
}

}  // namespace towerflow
