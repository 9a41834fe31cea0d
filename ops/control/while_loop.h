#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/control/nest.h"

namespace towerflow {

struct WhileLoopOptions {
  /// For each value of the loop variables, a shape that it has in every iteration; by default that
  /// of its initial value.
  std::optional<std::vector<Shape>> shape_invariants{};
  int parallel_iterations = 10;  ///< recorded in the graph; has no other effect
  bool back_prop = true;         ///< whether `gradients` may go through the loop
  bool swap_memory = false;      ///< recorded in the graph
  std::string name{};
  std::optional<ScalarOperand> maximum_iterations{};  ///< the loop ends after so many
};

/// Builds the nodes of a loop whose variables are a flat list. For `while_loop`.
std::vector<Tensor> build_while(
    const std::vector<Operand>& loop_vars,
    const std::function<Operand(const std::vector<Tensor>&)>& cond,
    const std::function<std::vector<Operand>(const std::vector<Tensor>&)>& body,
    const WhileLoopOptions& options, Site site);

/// Whether a function takes the values of loop variables: the elements of a tuple, pair or array,
/// or the structure.
template <class F, class Values>
inline constexpr bool kTakesLoopVars = std::is_invocable_v<F&, const Values&>;
template <class F, class... T>
inline constexpr bool kTakesLoopVars<F, std::tuple<T...>> = std::is_invocable_v<F&, const T&...>;
template <class F, class A, class B>
inline constexpr bool kTakesLoopVars<F, std::pair<A, B>> =
    std::is_invocable_v<F&, const A&, const B&>;
template <class F, class T, std::size_t N>
inline constexpr bool kTakesLoopVars<F, std::array<T, N>> =
    requires(F& function, const std::array<T, N>& values) {
  std::apply(function, values);
};

/// Calls a function of the loop variables: with the elements of a tuple or pair as its arguments,
/// else with the structure.
template <class F, class Vars>
auto call_with_loop_vars(F& function, const Vars& vars) {
  if constexpr (requires { std::tuple_size<Vars>::value; })
    return std::apply(function, vars);
  else
    return function(vars);
}

/// Runs `body` while `cond` is true. `cond(loop_vars..)` returns a bool tensor, `body(loop_vars..)`
/// the next values of the variables. Both are called once, now, with tensors that stand for the
/// values of an iteration:
///
///     const auto [i, x] = tf::while_loop([](tf::Tensor i, tf::Tensor) { return i < 10; },
///                                        [](tf::Tensor i, tf::Tensor x) {
///                                          return std::tuple(i + 1, x * 2);
///                                        },
///                                        std::tuple(0, x0));
///
/// `loop_vars` is a tensor or what converts to one, or a structure of these (see
/// ops/control/nest.h); a tuple is passed as separate arguments. The session runs each iteration
/// as a plan of its own; tensors from outside are read, not computed again.
///
/// shapes   those of the initial values, or of `shape_invariants`, in every iteration
/// grads    the initial values and the tensors from outside, unless `back_prop` is false; there are
///          no second derivatives
/// errors   ValueError: no loop variables, another number of values or a less specific shape after
///          an iteration; TypeError: `cond` is not a bool, a dtype changes, parallel_iterations < 1
/// source   tf.while_loop
template <class Cond, class Body, class Vars>
requires(
    kTakesLoopVars<std::remove_reference_t<Cond>, typename Nest<Vars>::Result>&&
        kTakesLoopVars<std::remove_reference_t<Body>,
                       typename Nest<Vars>::Result>) auto while_loop(Cond&& cond, Body&& body,
                                                                     const Vars& loop_vars,
                                                                     WhileLoopOptions options = {},
                                                                     Site site = Site::current()) {
  using Values = typename Nest<Vars>::Result;
  using Next = std::decay_t<decltype(call_with_loop_vars(body, std::declval<const Values&>()))>;
  std::optional<Next> like;
  const std::vector<Tensor> exits = build_while(
      nest::flatten(loop_vars, site),
      [&](const std::vector<Tensor>& values) {
        return Operand(call_with_loop_vars(cond, nest::pack_sequence_as(loop_vars, values, true)))
            .at(site);
      },
      [&](const std::vector<Tensor>& values) {
        like.emplace(call_with_loop_vars(body, nest::pack_sequence_as(loop_vars, values, true)));
        return nest::flatten(*like, site);
      },
      options, site);
  return nest::pack_sequence_as(*like, exits);
}

}  // namespace towerflow
