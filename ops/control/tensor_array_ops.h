#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/graph/attr_fields.h"
#include "core/graph/gradient.h"
#include "core/graph/operand.h"

namespace towerflow {

/// The attributes of TensorArrayV3.
struct TensorArrayAttrs {
  DType dtype = DType::invalid;
  Shape element_shape = Shape::unknown();
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  std::string tensor_array_name;
  static constexpr auto fields = std::tuple{
      attr::required("dtype", &TensorArrayAttrs::dtype),
      attr::field("element_shape", &TensorArrayAttrs::element_shape),
      attr::field("dynamic_size", &TensorArrayAttrs::dynamic_size),
      attr::field("clear_after_read", &TensorArrayAttrs::clear_after_read),
      attr::field("identical_element_shapes", &TensorArrayAttrs::identical_element_shapes),
      attr::field("tensor_array_name", &TensorArrayAttrs::tensor_array_name)};
};

/// The attributes of TensorArrayGradV3.
struct TensorArrayGradAttrs {
  std::string source;
  static constexpr auto fields =
      std::tuple{attr::required("source", &TensorArrayGradAttrs::source)};
};

/// The attributes of TensorArrayReadV3.
struct TensorArrayReadAttrs {
  DType dtype = DType::invalid;
  static constexpr auto fields = std::tuple{attr::required("dtype", &TensorArrayReadAttrs::dtype)};
};

/// The attributes of TensorArrayGatherV3.
struct TensorArrayGatherAttrs {
  DType dtype = DType::invalid;
  Shape element_shape = Shape::unknown();
  static constexpr auto fields =
      std::tuple{attr::required("dtype", &TensorArrayGatherAttrs::dtype),
                 attr::field("element_shape", &TensorArrayGatherAttrs::element_shape)};
};

/// The attributes of TensorArrayConcatV3.
struct TensorArrayConcatAttrs {
  DType dtype = DType::invalid;
  Shape element_shape_except0 = Shape::unknown();
  static constexpr auto fields = std::tuple{
      attr::required("dtype", &TensorArrayConcatAttrs::dtype),
      attr::field("element_shape_except0", &TensorArrayConcatAttrs::element_shape_except0)};
};

/// Returns the shape of elements that TensorFlow's shape functions know of a handle; nothing if
/// they know none.
std::optional<Shape> element_shape_of_handle(const Tensor& handle);

/// The gradients of the ops of TensorArrays. (tensor_array_grad.py)
std::vector<OptionalGradient> tensor_array_read_gradient(const Operation& op,
                                                         const std::vector<OptionalGradient>& dys);
std::vector<OptionalGradient> tensor_array_write_gradient(const Operation& op,
                                                          const std::vector<OptionalGradient>& dys);
std::vector<OptionalGradient> tensor_array_gather_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys);
std::vector<OptionalGradient> tensor_array_scatter_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys);
std::vector<OptionalGradient> tensor_array_concat_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys);
std::vector<OptionalGradient> tensor_array_split_gradient(const Operation& op,
                                                          const std::vector<OptionalGradient>& dys);

}  // namespace towerflow
