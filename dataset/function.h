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
  /// Returns what is fed: the components of an element, then the captured values.
  const std::vector<Tensor>& feeds() const { return feeds_; }
  const std::vector<Tensor>& results() const { return results_; }
  /// Returns whether it has state, such as a random generator, so that elements must be computed in
  /// order.
  bool stateful() const;

 private:
  Graph graph_;
  std::vector<Tensor> feeds_;
  std::vector<Tensor> captured_;
  std::vector<Tensor> results_;
};

/// The calls of a function by one thread.
class FunctionCall {
 public:
  FunctionCall(const std::shared_ptr<DatasetFunction>& function, IteratorContext& context,
               const std::vector<Array>& captured);

  /// Computes the results for an element. They are valid until the next call.
  std::span<const Array> operator()(ElementValue& element);

 private:
  Callable callable_;
  std::vector<Array> values_;  // the element, then the captured values
  std::size_t components_;
};

}  // namespace towerflow::data
