#include "ops/variables/count_up_to.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct CountUpToAttrs {
  std::int64_t limit = 0;
  static constexpr auto fields = std::tuple{attr::required("limit", &CountUpToAttrs::limit)};
};

template <class T>
std::unique_ptr<PreparedKernel> count_kernel(const KernelRequest& request) {
  const std::int64_t limit = request.attributes<CountUpToAttrs>().limit;
  return function_kernel([limit](const LaunchArgs& args) {
    T* variable = args.variable<T>(0);
    if (*variable >= limit) {
      throw errors::OutOfRangeError(fmt::format("Reached limit of {}", limit));
    }
    *args.output<T>(0) = (*variable)++;
  });
}

void count_shape(InferenceContext& context) {
  if (!context.is_ref(0)) {
    context.fail_type("Input 'ref' of the op requires a variable (l-value) input");
  }
  if (context.shape(0).has_rank() && context.shape(0).rank() != 0) {
    context.fail(fmt::format("Shape must be rank 0 but is rank {}", context.shape(0).rank()));
  }
  context.add_output(context.dtype(0), Shape{});
}

}  // namespace

static void register_count_up_to_ops(OpRegistry& registry) {
  registry.add({.name = "CountUpTo",
                .inputs = {"ref: Ref(T)"},
                .outputs = {"output: T"},
                .attrs = attributes<CountUpToAttrs>(),
                .shape = count_shape,
                .gradient = NoGradient{"a count is an integer", false},
                .effect = Effect::writes_variable,
                .written = {0}});
}

static void register_count_up_to_kernels(KernelTable& table) {
  const auto add = [&]<class T>(T) {
    table.add(
        {.op = "CountUpTo",
         .label = "count",
         .accepts =
             [](const KernelRequest& request) { return request.inputs[0].dtype == dtype_of<T>(); },
         .prepare = count_kernel<T>});
  };
  add(std::int64_t{});
  add(std::int32_t{});
}

OpFamily count_up_to_family() {
  return {.ops = register_count_up_to_ops, .kernels = register_count_up_to_kernels};
}

Tensor count_up_to(const Variable& variable, std::int64_t limit, CountUpToOptions options,
                   Site site) {
  const Operand ref(variable.ref(), site);
  return OpBuilder("CountUpTo", options.name, site, {&ref})
      .input(ref, "ref", "T")
      .attrs(CountUpToAttrs{limit})
      .output();
}

}  // namespace towerflow
