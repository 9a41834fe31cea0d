#include "report/loss_terms.h"

#include "autodiff/gradients.h"
#include "core/graph/graph.h"
#include "ops/array/indexed_slices.h"

namespace towerflow::report {
namespace {

void add_terms(const Tensor& tensor, std::vector<Tensor>& terms) {
  const Operation op = tensor.op();
  const std::string& type = op.type();
  if (type == "Identity" || type == "AddN" || type == "Add" || type == "AddV2") {
    for (const Tensor& input : op.inputs()) add_terms(input, terms);
    return;
  }
  if (type == "Minimum" || type == "Maximum") {
    for (std::size_t i = 0; i < 2; ++i) {
      if (constant_value(op.input(i)).empty()) continue;
      return add_terms(op.input(1 - i), terms);
    }
  }
  if (constant_value(tensor).empty()) terms.push_back(tensor);
}

}  // namespace

std::vector<Tensor> terms_of(const Tensor& loss) {
  std::vector<Tensor> terms;
  add_terms(loss, terms);
  if (terms.empty()) terms.push_back(loss);
  return terms;
}

TermGradients add_term_gradients(const Tensor& term, const std::vector<Variable>& variables,
                                 const std::string& name) {
  const auto default_graph = term.graph().as_default();
  TermGradients made;
  made.scope = term.graph().unique_name(name, /*mark_as_used=*/false) + "/";
  const std::vector<OptionalGradient> gradients =
      towerflow::gradients(term, variables, {.name = name, .colocate_gradients_with_ops = true});
  for (const OptionalGradient& gradient : gradients) {
    made.of.push_back(gradient ? dense_gradient(gradient, Site::current()) : Tensor());
  }
  return made;
}

}  // namespace towerflow::report
