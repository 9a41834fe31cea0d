#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

/// Options of all functions below.
struct AssertValuesOptions {
  ByName by_name = ByName();
  std::optional<std::vector<Operand>> data{};  ///< for the message, instead of the default
  std::optional<int> summarize{};              ///< elements of each tensor in the message, or 3
  std::optional<std::string> message{};        ///< put before the default message
  std::string name{};
};

/// Each of these adds an operation that fails unless the condition holds for all elements of x and
/// y, which broadcast. Operations that depend on it must list it in `control_dependencies`. If both
/// values are known when the graph is built, the call itself fails.
///
/// shapes   x, y that broadcast     dtypes  all numbers, the same for both; equality: any
/// grads    none: there is no output
/// errors   TypeError: dtypes differ; InvalidArgumentError, of the call or at run time: the
///          condition does not hold
/// source   tf.assert_equal, tf.assert_less, ..
Operation assert_equal(const Operand& x, const Operand& y, AssertValuesOptions options = {},
                       Site site = Site::current());
Operation assert_none_equal(const Operand& x, const Operand& y, AssertValuesOptions options = {},
                            Site site = Site::current());
Operation assert_less(const Operand& x, const Operand& y, AssertValuesOptions options = {},
                      Site site = Site::current());
Operation assert_less_equal(const Operand& x, const Operand& y, AssertValuesOptions options = {},
                            Site site = Site::current());
Operation assert_greater(const Operand& x, const Operand& y, AssertValuesOptions options = {},
                         Site site = Site::current());
Operation assert_greater_equal(const Operand& x, const Operand& y, AssertValuesOptions options = {},
                               Site site = Site::current());

/// Likewise for x alone: x > 0, x < 0, x >= 0, x <= 0. (tf.assert_positive, ..)
Operation assert_positive(const Operand& x, AssertValuesOptions options = {},
                          Site site = Site::current());
Operation assert_negative(const Operand& x, AssertValuesOptions options = {},
                          Site site = Site::current());
Operation assert_non_negative(const Operand& x, AssertValuesOptions options = {},
                              Site site = Site::current());
Operation assert_non_positive(const Operand& x, AssertValuesOptions options = {},
                              Site site = Site::current());

struct IsMonotonicOptions {
  std::string name{};
};

/// Returns whether each element of x, in row-major order, is at least as large as the one before
/// it. (tf.is_non_decreasing)
///
/// shapes   x [...] -> []     dtypes  x all numbers -> bool     grads  none: a bool
/// errors   TypeError: x is not numeric
Tensor is_non_decreasing(const Operand& x, IsMonotonicOptions options = {},
                         Site site = Site::current());
/// Returns whether each element is larger than the one before it. (tf.is_strictly_increasing)
Tensor is_strictly_increasing(const Operand& x, IsMonotonicOptions options = {},
                              Site site = Site::current());

}  // namespace towerflow
