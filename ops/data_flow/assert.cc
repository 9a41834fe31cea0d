#include "ops/data_flow/assert.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/control/cond.h"
#include "ops/control/group.h"
#include "ops/data_flow/summarize_value.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct AssertAttrs {
  int summarize = 3;
  static constexpr auto fields = std::tuple{attr::field("summarize", &AssertAttrs::summarize)};
};

std::unique_ptr<PreparedKernel> assert_kernel(const KernelRequest& request) {
  const int limit = request.attributes<AssertAttrs>().summarize;
  return function_kernel([descs = request.inputs, limit](const LaunchArgs& args) {
    if (*args.input<bool>(0)) return;
    std::string text = "assertion failed:";
    for (std::size_t i = 1; i < descs.size(); ++i) {
      text += fmt::format(" [{}]",
                          summarize_value(descs[i].dtype, descs[i].shape, args.inputs[i], limit));
    }
    throw errors::InvalidArgumentError(text);
  });
}

}  // namespace

static void register_assert_ops(OpRegistry& registry) {
  registry.add({.name = "Assert",
                .inputs = {"condition: bool", "data: list(T)"},
                .attrs = attributes<AssertAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      const Shape& shape = context.shape(0);
                      if (shape.has_rank() && shape.rank() != 0) {
                        context.fail(
                            fmt::format("Shape must be rank 0 but is rank {}: the "
                                        "condition of an assertion",
                                        shape.rank()));
                      }
                    },
                .gradient = NoGradient{"an assertion has no output"},
                .effect = Effect::stateful});
}

static void register_assert_kernels(KernelTable& table) {
  table.add({.op = "Assert", .label = "assert", .accepts = {}, .prepare = assert_kernel});
}

OpFamily assert_family() {
  return {.ops = register_assert_ops, .kernels = register_assert_kernels};
}

Operation Assert(const Operand& condition, const OperandList& data, AssertOptions options,
                 Site site) {
  const Tensor* inside = condition.any_tensor();
  if (inside == nullptr) inside = data.any_tensor();
  Graph& graph = inside != nullptr ? inside->graph() : get_default_graph();
  const NameScope scope(graph, options.name.empty() ? "Assert" : options.name, site);
  // TensorFlow first checks the values' dtypes, which makes constants of them, and again below.
  bool guarded = false;
  for (const Operand& item : data.items()) {
    const DType dtype = convert_operand(graph, item, "", std::nullopt).dtype();
    guarded |= dtype != DType::string && dtype != DType::int32;
  }
  const auto add = [&](const Operand& checked) {
    OpBuilder builder("Assert", "", site, {inside != nullptr ? &checked : nullptr});
    builder.input(checked, "condition", DType::bool_);
    for (std::size_t i = 0; i < data.size(); ++i) {
      builder.input(data.items()[i], fmt::format("data_{}", i).c_str());
    }
    return builder.attrs(AssertAttrs{options.summarize}).build();
  };
  if (!guarded) return add(condition);
  // Data that may be on a device is fetched only if the assertion fails.
  const Tensor pred = convert_operand(graph, condition, "Condition", DType::bool_);
  const Tensor done = cond(
      pred, [&] { return no_op({}, site); }, [&] { return add(Operand(pred, site)); },
      {.name = "AssertGuard"}, site);
  return done.op();
}

}  // namespace towerflow
