#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/operand.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn::types {

/// The largest elements and where they are.
struct MaxPoolWithArgmax {
  Tensor output;
  Tensor argmax;
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

struct MaxPoolWithArgmaxOptions {
  std::string data_format = "NHWC";  ///< nothing else
  DType Targmax = DType::int64;      ///< or int32
  std::string name{};
  std::optional<DType> output_dtype{};  ///< newer name of `Targmax`
  bool include_batch_in_index = false;  ///< whether indices count the images before
};

/// Returns the maximum of each window and its index (h * W + w) * C + c in the image.
///
/// shapes   input [N,H,W,C] -> twice [N,P,Q,C], with P and Q as in max_pool
/// dtypes   input real numbers; argmax int32, int64
/// grads    input: dy goes to the indices; once
/// errors   as max_pool; ValueError: another data format
/// source   tf.nn.max_pool_with_argmax
MaxPoolWithArgmax max_pool_with_argmax(const Operand& input, const Extents& ksize,
                                       const Extents& strides, std::string_view padding,
                                       MaxPoolWithArgmaxOptions options = {},
                                       Site site = Site::current());

}  // namespace towerflow::nn
