#pragma once

#include <string>
#include <vector>

#include "autodiff/gradients.h"
#include "core/graph/collections.h"

namespace towerflow::types {

/// Why `gradients` returns nothing for an x. If several causes hold, the first one listed here is
/// reported, except that `y_unconnected` takes precedence over `no_path`.
enum class NoneCause {
  connected,                ///< there is a gradient
  other_graph,              ///< x is in another graph than y
  not_in_var_list,          ///< the var_list leaves the variable out
  stop_gradients_argument,  ///< cut by the call's own stop_gradients
  stop_gradient,            ///< cut at a tf::stop_gradient
  integer,                  ///< cut where values become integers or bools, or x has such a dtype
  no_gradient_op,           ///< cut at an op without a gradient
  assignment,               ///< y depends on x only through an assignment to a variable
  indices_or_shape,         ///< y uses x as indices, or only its shape
  other_tower,              ///< y uses x's counterpart in another tower
  control_edge,             ///< y only runs after something that uses x
  no_path,                  ///< y does not use x at all
  y_unconnected,            ///< y does not use any variable
};

/// The result of `why_none`. The handles are valid as long as their graphs; some may be unset.
struct WhyNone {
  NoneCause cause = NoneCause::no_path;
  /// Where the path is cut: the stop_gradient, the cast, the op without a gradient, the assignment,
  /// the op that has the control input. x's op if there is no path, y's if y is unconnected.
  Operation node{};
  /// On x's side of the cut: the nearest node that x still reaches.
  Operation towards_x{};
  /// On y's side of the cut: the nearest node that y is computed from. x's counterpart for
  /// `other_tower`.
  Operation towards_y{};
  std::string reason{};  ///< of an op without a gradient, as registered
  std::string text{};    ///< the explanation in a sentence or two

  bool connected() const { return cause == NoneCause::connected; }
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns "stop_gradient" for NoneCause::stop_gradient.
const char* cause_name(NoneCause cause);

struct WhyNoneOptions {
  GradientTargets stop_gradients{};  ///< of the call in question
  OptionalVariables var_list{};      ///< of compute_gradients
};

/// Explains why `gradients(y, {x})` is absent, or reports that it exists, by computing it in a
/// trial that leaves the graph unchanged. A gradient registered by the program is called as
/// `gradients` would call it.
///
///   std::puts(tf::why_none(loss, weights).text.c_str());
///
/// errors   those of `gradients`, except that an op without a defined gradient is a cause
WhyNone why_none(const Tensor& y, const GradientTarget& x, WhyNoneOptions options = {},
                 Site site = Site::current());

}  // namespace towerflow
