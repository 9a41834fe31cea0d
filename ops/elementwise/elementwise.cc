#include "ops/elementwise/kernel.h"
#include "ops/elementwise/program.h"
#include "ops/family.h"

namespace towerflow {

static void register_elementwise_ops(OpRegistry& registry) {
  registry.add({.name = "_Elementwise",
                .inputs = {"inputs: list(T)"},
                .outputs = {"output: dtype"},
                .shape =
                    [](InferenceContext& context) {
                      const auto& program = context.attrs<ElementwiseProgram>();
                      context.add_output(program.steps.back().dtype, program.shape);
                    },
                .gradient = NoGradient{"it is created after the gradients, in plans only"},
                .plan_only = true});
}

static void register_elementwise_kernels(KernelTable& table) {
  table.add({.op = "_Elementwise",
             .label = "pieces",
             .accepts = {},
             .prepare = elementwise_program_kernel});
}

OpFamily elementwise_family() {
  return {.ops = register_elementwise_ops, .kernels = register_elementwise_kernels};
}

}  // namespace towerflow
