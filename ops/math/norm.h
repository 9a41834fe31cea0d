#pragma once

#include <string>

#include "ops/math/reduce.h"

namespace towerflow::types {

/// The order of a norm: "euclidean", "fro" (the same, of matrices), or a positive number, infinity
/// among them.
class NormOrder {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> NormOrder(T p) : p_(static_cast<double>(p)) {}  // NOLINT: 1
  NormOrder(const char* name) : name_(name) {}  // NOLINT: "euclidean"

  const std::string& name() const { return name_; }  ///< empty if the order is a number
  double p() const { return p_; }
  bool is_euclidean() const {
    return name_ == "euclidean" || name_ == "fro" || (name_.empty() && p_ == 2);
  }

 private:
  std::string name_;
  double p_ = 0;
};

struct NormOptions {
  ByName by_name = ByName();
  NormOrder ord = "euclidean";
  Axis axis = std::nullopt;        ///< one axis, two for the norm of matrices, or none for all
  std::optional<bool> keepdims{};  ///< whether reduced dimensions stay, with size 1
  std::string name{};
  std::optional<bool> keep_dims{};  ///< older name of `keepdims`
};

}  // namespace towerflow::types

namespace towerflow {

/// The norm of vectors or matrices. Of vectors, (sum of |x|^p)^(1/p), or the largest |x| for p =
/// infinity; of matrices (two axes) "fro" or "euclidean", the root of the sum of squares, 1, the
/// largest sum of a column, and infinity, the largest sum of a row. The infinite order is INFINITY.
///
/// shapes   tensor [d0, ..] -> without the reduced dimensions, or with size 1 in their place
/// dtypes   float32, float64
/// grads    tensor; NaN for a euclidean norm of 0
/// errors   ValueError: an order or axes that it does not take; UnimplementedError: order 2 of
///          matrices, which needs their singular values
/// source   tf.norm
Tensor norm(const Operand& tensor, NormOrder ord, NormOptions options = {},
            Site site = Site::current());
Tensor norm(const Operand& tensor, NormOptions options = {}, Site site = Site::current());

/// log(sum(exp(input))) over one or more axes, computed without overflow.
///
/// shapes   input [d0, ..] -> as reduce_sum       dtypes   float32, float64
/// grads    input
/// errors   those of reduce_sum
/// source   tf.reduce_logsumexp
template <class = void>
Tensor reduce_logsumexp(const Operand& input, Axis axis, ReduceOptions options = {},
                        Site site = Site::current());
Tensor reduce_logsumexp(const Operand& input, ReduceOptions options = {},
                        Site site = Site::current());

}  // namespace towerflow

namespace towerflow::math {

struct MomentOptions {
  ByName by_name = ByName();
  Axis axis = std::nullopt;
  bool keepdims = false;
  std::string name{};
};

/// The variance, and its root, of the elements along axes: the mean of squared distances from the
/// mean.
///
/// shapes   input_tensor [d0, ..] -> as reduce_mean     dtypes   float32, float64
/// grads    input_tensor; NaN for a standard deviation of 0
/// errors   TypeError: integers; those of reduce_mean
/// source   tf.math.reduce_variance, tf.math.reduce_std
template <class = void>
Tensor reduce_variance(const Operand& input_tensor, Axis axis, MomentOptions options = {},
                       Site site = Site::current());
template <class = void>
Tensor reduce_std(const Operand& input_tensor, Axis axis, MomentOptions options = {},
                  Site site = Site::current());
Tensor reduce_variance(const Operand& input_tensor, MomentOptions options = {},
                       Site site = Site::current());
Tensor reduce_std(const Operand& input_tensor, MomentOptions options = {},
                  Site site = Site::current());

}  // namespace towerflow::math
