#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "ops/math/reduce.h"

namespace towerflow::types {

/// The result of `clip_by_global_norm`: the list, in which absent gradients stay absent, and the
/// norm before clipping.
struct ClippedByGlobalNorm {
  std::vector<OptionalGradient> list_clipped;
  Tensor global_norm;
};

}  // namespace towerflow::types

namespace towerflow {

struct ClipByValueOptions {
  std::string name{};
};

/// Clips values to the range from `clip_value_min` to `clip_value_max`.
///
/// shapes   t [...], bounds [] or as t -> as t; of IndexedSlices, the values
/// dtypes   numbers, all the same
/// grads    t: dy where the value is within the bounds or on one, else 0; bounds: the rest
/// errors   ValueError: bounds that would broadcast t to another shape
/// source   tf.clip_by_value
Tensor clip_by_value(const Operand& t, const Operand& clip_value_min, const Operand& clip_value_max,
                     ClipByValueOptions options = {}, Site site = Site::current());
/// Clips a gradient, dense or slices: [(tf.clip_by_value(g, -1., 1.), v) for g, v in grads]
template <GradientLike T>
Gradient clip_by_value(const T& t, const Operand& clip_value_min, const Operand& clip_value_max,
                       ClipByValueOptions options = {}, Site site = Site::current()) {
  const Gradient gradient = PresentGradient(t, site).gradient();
  return gradient.with_values(clip_by_value(gradient.representative(), clip_value_min,
                                            clip_value_max, std::move(options), site));
}

struct ClipByNormOptions {
  Axis axes = std::nullopt;  ///< along which the norm is computed; all if not given
  std::string name{};
};

/// Returns t * clip_norm / max(norm, clip_norm), where norm is the L2 norm: the result's norm is at
/// most `clip_norm`. The gradient of a zero norm is zero.
///
/// shapes   t [...] -> as t; of IndexedSlices the values, without summing repeated rows
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

/// Returns the L2 norm of all values together, zero if there are none. IndexedSlices count with
/// their values as they are: repeated rows are not summed. Absent gradients are skipped.
///
/// shapes   [...] each -> []     dtypes  floating, all the same
/// source   tf.global_norm
Tensor global_norm(const GradientList& t_list, GlobalNormOptions options = {},
                   Site site = Site::current());

struct ClipByGlobalNormOptions {
  std::optional<Tensor> use_norm{};  ///< instead of global_norm(t_list)
  std::string name{};
};

/// Multiplies each t by clip_norm / max(global_norm, clip_norm). All results are NaN if the norm is
/// not finite.
///
/// source   tf.clip_by_global_norm
ClippedByGlobalNorm clip_by_global_norm(const GradientList& t_list, const Operand& clip_norm,
                                        ClipByGlobalNormOptions options = {},
                                        Site site = Site::current());

}  // namespace towerflow
