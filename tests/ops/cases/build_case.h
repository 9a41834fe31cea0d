#pragma once

#include <optional>
#include <vector>

#include "core/graph/fetch.h"
#include "core/runtime/session.h"
#include "tests/ops/cases/op_case.h"

namespace towerflow::testing {

/// A case in its own graph: the call, its gradients, and their gradients.
class BuiltCase {
 public:
  struct Options {
    DType dtype = DType::float64;
    std::string device{};             ///< for tf::device; "" for none
    bool unknown_shapes = false;      ///< whether the graph knows no shapes of the operands
    bool unwanted_gradients = false;  ///< whether to build gradients of a case that has none
  };
  /// `one` must outlive the built case.
  BuiltCase(const OpCase& one, const Options& options);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const std::vector<Tensor>& operands() const { return in_.all; }
  const std::vector<Tensor>& results() const { return results_; }
  /// Results, gradients of operands that have one, and the gradients of those gradients.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// The initializer of the variables; empty if the case has none.
  std::vector<Fetch> initializers() const;
  /// `tensors` and `initializers`.
  std::vector<Fetch> fetches() const;
  Feeds feeds(const std::vector<Array>& arrays) const;
  /// The case's own operands.
  Feeds feeds() const { return feeds(case_arrays(case_.inputs, in_.dtype)); }
  /// For each operand, whether the results have a gradient with respect to it.
  const std::vector<bool>& has_gradient() const { return has_gradient_; }

 private:
  void add_gradients();

  const OpCase& case_;
  Graph graph_;
  DefaultGraphGuard guard_;
  CaseTensors in_;
  std::vector<Tensor> results_;
  std::vector<Tensor> tensors_;
  std::optional<Operation> initializer_;
  std::vector<bool> has_gradient_;
};

/// Returns the cotangent of result number `index` of a case: random numbers of its shape from a
/// fixed seed, the same for each dtype.
Array cotangent(std::size_t index, const Shape& shape, DType dtype);

}  // namespace towerflow::testing
