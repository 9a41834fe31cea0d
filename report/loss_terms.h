#pragma once

#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "ops/variables/variable.h"

namespace towerflow::report {

/// Returns the terms whose sum is a loss: the operands of additions, through Identity, and through
/// Minimum and Maximum with a constant, which limit a loss. A loss that is no sum is its only term.
std::vector<Tensor> terms_of(const Tensor& loss);

/// The gradients of one scalar, as dense tensors; invalid where absent.
struct TermGradients {
  std::string scope;       ///< the name scope of their nodes
  std::vector<Tensor> of;  ///< one for each variable
};

/// Adds the nodes of the gradients to the graph of `term`, in a name scope that begins with `name`.
TermGradients add_term_gradients(const Tensor& term, const std::vector<Variable>& variables,
                                 const std::string& name);

}  // namespace towerflow::report
