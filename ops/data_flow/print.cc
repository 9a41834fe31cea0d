#include "ops/data_flow/print.h"

#include <fmt/format.h>

#include <atomic>

#include "core/device/cpu/launch.h"
#include "core/graph/log.h"
#include "core/graph/op_builder.h"
#include "ops/copy_elements.h"
#include "ops/data_flow/summarize_value.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct PrintAttrs {
  std::string message;
  int first_n = -1;
  int summarize = 3;
  static constexpr auto fields = std::tuple{attr::field("message", &PrintAttrs::message),
                                            attr::field("first_n", &PrintAttrs::first_n),
                                            attr::field("summarize", &PrintAttrs::summarize)};
};

/// How often a node has printed in a session.
struct PrintCounter final : Resource {
  std::atomic<std::int64_t> printed{0};
};

std::unique_ptr<PreparedKernel> print_kernel(const KernelRequest& request) {
  return function_kernel([attrs = request.attributes<PrintAttrs>(), descs = request.inputs,
                          node = request.node](const LaunchArgs& args) {
    copy_elements(descs[0].dtype, descs[0].shape.elements(), args.inputs[0], args.outputs[0]);
    if (attrs.first_n >= 0) {
      auto& counter = args.run->resources.resource<PrintCounter>(
          node, [] { return std::make_unique<PrintCounter>(); });
      if (counter.printed++ >= attrs.first_n) return;
    }
    std::string text = attrs.message;
    for (std::size_t i = 1; i < descs.size(); ++i) {
      const TensorDesc& desc = descs[i];
      text += fmt::format("[{}]",
                          summarize_value(desc.dtype, desc.shape, args.inputs[i], attrs.summarize));
    }
    log_message(LogLevel::info, text);
  });
}

}  // namespace

static void register_print_ops(OpRegistry& registry) {
  registry.add({.name = "Print",
                .inputs = {"input: T", "data: list(U)"},
                .outputs = {"output: T"},
                .attrs = attributes<PrintAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      context.add_output(context.dtype(0), context.shape(0));
                    },
                .gradient =
                    [](const Operation& op, const std::vector<OptionalGradient>& dys) {
                      std::vector<OptionalGradient> dxs(op.num_inputs());
                      dxs[0] = dys[0];
                      return dxs;
                    },
                .effect = Effect::stateful});
}

static void register_print_kernels(KernelTable& table) {
  table.add({.op = "Print", .label = "print", .accepts = {}, .prepare = print_kernel});
}

OpFamily print_family() { return {.ops = register_print_ops, .kernels = register_print_kernels}; }

Tensor Print(const Operand& input, const OperandList& data, PrintOptions options, Site site) {
  const Operand* first = &input;
  for (const Operand& item : data.items()) {
    if (first->any_tensor() == nullptr) first = &item;
  }
  OpBuilder builder("Print", options.name, site, {first});
  builder.input(input, "input");
  for (std::size_t i = 0; i < data.size(); ++i) {
    builder.input(data.items()[i], fmt::format("data_{}", i).c_str());
  }
  return builder.attrs(PrintAttrs{options.message, options.first_n, options.summarize}).output();
}

}  // namespace towerflow
