#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/graph/graph.h"
#include "dataset/dataset_iterator.h"
#include "dataset/element.h"

namespace towerflow::data {

/// A function of elements: a graph of its own that is built once, compiled once for each iterator
/// and then run for each element.
///
/// Tensors of the graph around it that it uses are captured: their values are computed when the
/// iterator is initialized.
class DatasetFunction {
 public:
  /// Calls `body` with an element of placeholders, in the function's graph. It returns the tensors
  /// to compute. Errors are rethrown with `site`.
  DatasetFunction(const ElementSpec& element,
                  const std::function<std::vector<Tensor>(const Element&)>& body, Site site);

  Graph& graph() { return graph_; }
  /// Returns the tensors of the graph around it that the function uses.
  const std::vector<Tensor>& captured() const { return captured_; }
  /// Returns the arguments: the components of an element, then the captured values.
  const std::vector<Tensor>& arguments() const { return arguments_; }
  const std::vector<Tensor>& results() const { return results_; }
  /// Returns whether it has state, such as a random generator, so that elements must be computed in
  /// order.
  bool stateful() const;

 private:
  Graph graph_;
  std::vector<Tensor> arguments_;
  std::vector<Tensor> captured_;
  std::vector<Tensor> results_;
};

/// The calls of a function by one thread.
///
/// Components are fed, so that the function is compiled for their shapes. If they have many
/// different shapes, those whose shape the dataset does not know are no longer fed, but read by a
/// plan that fits all shapes.
class FunctionCall {
 public:
  FunctionCall(std::shared_ptr<DatasetFunction> function, IteratorContext& context,
               const std::vector<Array>& captured);

  /// Computes the results for an element. They are valid until the next call.
  std::span<const Array> operator()(ElementValue& element);

 private:
  bool has_new_shapes(const ElementValue& element);
  void stop_feeding();

  std::shared_ptr<DatasetFunction> function_;
  IteratorContext& context_;
  Callable callable_;
  std::vector<Array> captured_;
  std::vector<std::size_t> fed_;            // components
  std::vector<std::size_t> not_known_;      // fed components whose shape the dataset does not know
  std::vector<std::vector<Shape>> shapes_;  // that they had in earlier calls
  std::vector<Array> values_;               // of `fed_`, then the captured ones
};

}  // namespace towerflow::data
