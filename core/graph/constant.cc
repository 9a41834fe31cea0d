#include "core/graph/constant.h"

#include "core/graph/graph.h"

namespace towerflow {

Tensor make_constant(Graph& graph, Array value, const std::string& name, Site site) {
  return graph
      .add({.op = "Const", .name = name, .attrs = ConstAttrs{std::move(value)}, .site = site})
      .output(0);
}

OpDef const_op() {
  return {.name = "Const",
          .outputs = {"output: dtype"},
          .attrs = attributes<ConstAttrs>(),
          .shape =
              [](InferenceContext& context) {
                const Array& value = context.attrs<ConstAttrs>().value;
                context.add_output(value.dtype(), value.shape());
              },
          .gradient = NoGradient{"a constant depends on nothing"}};
}

}  // namespace towerflow
