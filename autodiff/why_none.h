#pragma once

#include <string>
#include <vector>

#include "autodiff/gradients.h"
#include "core/graph/collections.h"

namespace towerflow::types {

/// Why `gradients` returns nothing for an x. Where several causes hold, the first one here that
/// does is told, but that `y_unconnected` stands before `no_path`.
enum class NoneCause {
  connected,                ///< there is a gradient
  other_graph,              ///< x is in another graph than y
  not_in_var_list,          ///< the var_list leaves the variable out
  stop_gradients_argument,  ///< cut by the call's own stop_gradients
  stop_gradient,            ///< cut at a tf::stop_gradient
  integer,                  ///< cut where values become integers or bools, or x is of them
  no_gradient_op,           ///< cut at an op without a gradient
  assignment,               ///< y sees x only through what is assigned to a variable
  indices_or_shape,         ///< y uses x as indices, or only its shape
  other_tower,              ///< y uses a twin of x, which was made in another tower
  control_edge,             ///< y only runs after something that uses x
  no_path,                  ///< y does not use x at all
  y_unconnected,            ///< y does not use any variable
};

/// The answer of `why_none`. The handles are valid as long as their graphs, some may be unset.
struct WhyNone {
  NoneCause cause = NoneCause::no_path;
  /// Where the path is cut: the stop_gradient, the cast, the op without a gradient, the assignment,
  /// the op that has the control input. x's op where there is no path, y's where y is unconnected.
  Operation node{};
  /// On x's side of it: the nearest node that x still reaches.
  Operation towards_x{};
  /// On y's side of it: the nearest node that y is computed from. The twin for `other_tower`.
  Operation towards_y{};
  std::string reason{};  ///< of an op without a gradient, as it is registered
  std::string text{};    ///< all of it in a sentence or two

  bool connected() const { return cause == NoneCause::connected; }
};

}  // namespace towerflow::types

namespace towerflow {

/// "stop_gradient" for NoneCause::stop_gradient.
const char* cause_name(NoneCause cause);

struct WhyNoneOptions {
  GradientTargets stop_gradients{};  ///< those of the call in question
  OptionalVariables var_list{};      ///< that of compute_gradients
};

/// Says why `gradients(y, {x})` is absent, or that it is there, by trying it: the graph is as it
/// was afterwards. A gradient registered by the program is called as `gradients` would call it.
///
///   std::puts(tf::why_none(loss, weights).text.c_str());
///
/// errors   those of `gradients`, but for an op whose gradient is not defined, which is a cause
WhyNone why_none(const Tensor& y, const GradientTarget& x, WhyNoneOptions options = {},
                 Site site = Site::current());

}  // namespace towerflow
