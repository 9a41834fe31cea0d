#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/op_gradient.h"
#include "ops/operand_list.h"

namespace towerflow::types {

/// A function of the program that computes on Arrays: from one Array for each input to one Array,
/// or a list of them, as results.
class ArrayFunction {
 public:
  using Arrays = std::vector<Array>;
  template <std::invocable<const Arrays&> F>
  ArrayFunction(F function)  // NOLINT: [](const std::vector<tf::Array>& inputs) { .. }
      : function_([function = std::move(function)](const Arrays& inputs) mutable {
          return listed(function(inputs));
        }) {}
  template <std::invocable<const Array&> F>
  ArrayFunction(F function)  // NOLINT: [](const tf::Array& x) { .. }
      : function_([function = std::move(function)](const Arrays& inputs) mutable {
          return listed(function(inputs.at(0)));
        }) {}
  template <std::invocable<const Array&, const Array&> F>
  ArrayFunction(F function)  // NOLINT: [](const tf::Array& x, const tf::Array& y) { .. }
      : function_([function = std::move(function)](const Arrays& inputs) mutable {
          return listed(function(inputs.at(0), inputs.at(1)));
        }) {}

  const std::function<Arrays(const Arrays&)>& function() const { return function_; }

 private:
  static Arrays listed(Array one) { return {std::move(one)}; }
  static Arrays listed(Arrays all) { return all; }

  std::function<Arrays(const Arrays&)> function_;
};

}  // namespace towerflow::types

namespace towerflow {

struct PyFuncOptions {
  bool stateful = true;  ///< false: equal inputs give equal results, so that calls may be saved
  /// Makes the gradient of each input from those of the results, as a gradient of an op does; by
  /// default no gradient flows.
  GradientRule gradient{};
  std::string name{};
};

/// Returns the results of a function of the program, which is called each time they are computed,
/// by one thread at a time. Their dtypes are `Tout`, their shapes unknown; `set_shape` declares
/// them. The graph keeps the function; a graph with this op cannot be written as a GraphDef.
///
/// dtypes   all
/// grads    inp: from `options.gradient`
/// errors   at run time InvalidArgumentError: results of another number or dtype, or ValueError or
///          TypeError thrown by the function; its other errors keep their class, exceptions from
///          outside the library become UnknownError with their text
/// source   tf.py_func
Tensor py_func(ArrayFunction func, const OperandList& inp, DType Tout, PyFuncOptions options = {},
               Site site = Site::current());
std::vector<Tensor> py_func(ArrayFunction func, const OperandList& inp,
                            std::initializer_list<DType> Tout, PyFuncOptions options = {},
                            Site site = Site::current());

}  // namespace towerflow
