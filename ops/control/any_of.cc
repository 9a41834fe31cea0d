// The condition of a value that one of several branches gives, in plans only.
#include "core/device/cpu/launch.h"
#include "core/graph/control_flow_attrs.h"
#include "ops/family.h"

namespace towerflow {
namespace {

/// Reads the conditions of a term in order and stops at the first that does not hold: those after
/// it may not have been computed.
std::unique_ptr<PreparedKernel> any_of_kernel(const KernelRequest& request) {
  return function_kernel(
      [terms = request.attributes<AnyOfAttrs>().terms](const LaunchArgs& args) {
        bool any = false, holds = true;
        for (const std::int64_t literal : terms) {
          if (literal < 0) {
            any = any || holds;
            holds = true;
          } else if (holds) {
            holds = *args.input<bool>(static_cast<std::size_t>(literal / 2)) == (literal % 2 == 1);
          }
        }
        *args.output<bool>(0) = any;
      },
      {.may_fail = false});
}

}  // namespace

static void register_any_of_ops(OpRegistry& registry) {
  registry.add(
      {.name = "_AnyOf",
       .inputs = {"conditions: N * bool"},
       .outputs = {"output: bool"},
       .attrs = attributes<AnyOfAttrs>(),
       .shape = [](InferenceContext& context) { context.add_output(DType::bool_, Shape()); },
       .gradient = NoGradient{"it exists in plans only"},
       .plan_only = true,
       .on_host = true});
}

static void register_any_of_kernels(KernelTable& table) {
  table.add({.op = "_AnyOf", .label = "loop", .accepts = {}, .prepare = any_of_kernel});
}

OpFamily any_of_family() {
  return {.ops = register_any_of_ops, .kernels = register_any_of_kernels};
}

}  // namespace towerflow
