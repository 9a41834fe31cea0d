#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "ops/math/reduce.h"

namespace towerflow::types {

/// What `clip_by_global_norm` gives: the list, absent where it was absent, and the norm before.
struct ClippedByGlobalNorm {
  std::vector<OptionalGradient> list_clipped;
  Tensor global_norm;
};

}  // namespace towerflow::types

namespace towerflow {

struct ClipByValueOptions {
  std::string name{};
};

/// The values with those below `clip_value_min` and above `clip_value_max` put on the bound.
///
/// shapes   t [...], bounds [] or as t -> as t; of slices the values
/// dtypes   numbers, all the same
/// grads    t: dy where the value was kept or stood on the bound, else 0; bounds: the rest
/// errors   ValueError: bounds that would broadcast t
/// source   tf.clip_by_value
Tensor clip_by_value(const Operand& t, const Operand& clip_value_min, const Operand& clip_value_max,
                     ClipByValueOptions options = {}, Site site = Site::current());
/// Of a gradient, dense or slices: [(tf.clip_by_value(g, -1., 1.), v) for g, v in grads]
template <GradientLike T>
Gradient clip_by_value(const T& t, const Operand& clip_value_min, const Operand& clip_value_max,
                       ClipByValueOptions options = {}, Site site = Site::current()) {
  const Gradient gradient = PresentGradient(t, site).gradient();
  return gradient.with_values(clip_by_value(gradient.representative(), clip_value_min,
                                            clip_value_max, std::move(options), site));
}

struct ClipByNormOptions {
  Axis axes = std::nullopt;  ///< along which the norm is taken; all of them when not given
  std::string name{};
};

/// t * clip_norm / max(norm, clip_norm), the norm being the root of the sum of squares: never
/// longer than `clip_norm`. A norm of zero has the gradient zero.
///
/// shapes   t [...] -> as t; of slices the values, repeated rows as they stand
/// dtypes   floating
/// source   tf.clip_by_norm
Tensor clip_by_norm(const Operand& t, const Operand& clip_norm, ClipByNormOptions options = {},
                    Site site = Site::current());
template <GradientLike T>
Gradient clip_by_norm(const T& t, const Operand& clip_norm, ClipByNormOptions options = {},
                      Site site = Site::current()) {
  const Gradient gradient = PresentGradient(t, site).gradient();
  return gradient.with_values(
      clip_by_norm(gradient.representative(), clip_norm, std::move(options), site));
}

struct GlobalNormOptions {
  std::string name{};
};

/// The norm of all the values together; of slices the values as they stand, repeated rows not
/// summed; what is absent is passed over. Zero where nothing is present.
///
/// shapes   [...] each -> []     dtypes  floating, all the same
/// source   tf.global_norm
Tensor global_norm(const GradientList& t_list, GlobalNormOptions options = {},
                   Site site = Site::current());

struct ClipByGlobalNormOptions {
  std::optional<Tensor> use_norm{};  ///< instead of global_norm(t_list)
  std::string name{};
};

/// Each t * clip_norm / max(global_norm, clip_norm): all shortened by the same factor. NaN
/// everywhere where the norm is not finite.
///
/// source   tf.clip_by_global_norm
ClippedByGlobalNorm clip_by_global_norm(const GradientList& t_list, const Operand& clip_norm,
                                        ClipByGlobalNormOptions options = {},
                                        Site site = Site::current());

}  // namespace towerflow
