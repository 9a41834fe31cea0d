#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

/// Returns whether the dtype of a tensor is a number. (tf.is_numeric_tensor)
bool is_numeric_tensor(const Tensor& tensor);

struct AssertTypeOptions {
  std::optional<std::string> message{};  ///< put before the message
  std::string name{};
};

/// Throws TypeError unless the dtype is `tf_type`; returns an operation that does nothing.
/// (tf.assert_type)
Operation assert_type(const Operand& tensor, DType tf_type, AssertTypeOptions options = {},
                      Site site = Site::current());
/// Throws TypeError unless the dtype is an integer's; returns an operation that does nothing.
/// (tf.assert_integer)
Operation assert_integer(const Operand& x, AssertTypeOptions options = {},
                         Site site = Site::current());
/// Returns the tensor. Throws ValueError unless it is known to be a scalar. (tf.assert_scalar)
Tensor assert_scalar(const Operand& tensor, AssertTypeOptions options = {},
                     Site site = Site::current());

struct AssertRankOptions {
  ByName by_name = ByName();
  std::optional<std::vector<Operand>> data{};  ///< for the message, instead of the default
  std::optional<int> summarize{};              ///< elements of each tensor in the message, or 3
  std::optional<std::string> message{};        ///< put before the default message
  std::string name{};
};

/// Each of these adds an operation that fails unless x has this rank, at least this rank, or one of
/// these ranks. If the ranks are known when the graph is built, the call itself fails.
///
/// dtypes   x all; rank int32 []
/// grads    none: there is no output
/// errors   ValueError: the static rank differs, `rank` is no scalar; TypeError: `rank` is not
///          int32; at run time InvalidArgumentError: the rank differs
/// source   tf.assert_rank, tf.assert_rank_at_least, tf.assert_rank_in
Operation assert_rank(const Operand& x, const ScalarOperand& rank, AssertRankOptions options = {},
                      Site site = Site::current());
Operation assert_rank_at_least(const Operand& x, const ScalarOperand& rank,
                               AssertRankOptions options = {}, Site site = Site::current());
Operation assert_rank_in(const Operand& x, std::initializer_list<ScalarOperand> ranks,
                         AssertRankOptions options = {}, Site site = Site::current());

/// Returns what TensorFlow puts before a message: nothing, or "message.  ".
std::string message_prefix(const std::optional<std::string>& message);

}  // namespace towerflow
