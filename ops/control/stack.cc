#include "ops/control/stack.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/device/run_objects.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct StackAttrs {
  DType elem_type = DType::invalid;
  std::string stack_name;
  static constexpr auto fields = std::tuple{attr::required("elem_type", &StackAttrs::elem_type),
                                            attr::field("stack_name", &StackAttrs::stack_name)};
};

struct StackPushAttrs {
  bool swap_memory = false;
  static constexpr auto fields =
      std::tuple{attr::field("swap_memory", &StackPushAttrs::swap_memory)};
};

struct StackPopAttrs {
  DType elem_type = DType::invalid;
  static constexpr auto fields = std::tuple{attr::required("elem_type", &StackPopAttrs::elem_type)};
};

/// The tensors of a stack. It shares their memory with those that push and pop them.
class TensorStack final : public RunObject {
 public:
  void push(Array value) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(value));
  }
  /// Removes the last tensor and returns it. Throws InvalidArgumentError if there is none.
  Array pop() {
    const std::lock_guard lock(mutex_);
    if (items_.empty()) throw errors::InvalidArgumentError("a pop from an empty stack");
    Array last = std::move(items_.back());
    items_.pop_back();
    return last;
  }

 private:
  std::mutex mutex_;
  std::vector<Array> items_;
};

TensorStack& stack_of(const LaunchArgs& args) {
  auto* stack = dynamic_cast<TensorStack*>(*args.input<Resource*>(0));
  if (stack == nullptr) throw errors::InvalidArgumentError("the resource is not a stack");
  return *stack;
}

void require_handle(const InferenceContext& context) {
  if (context.dtype(0) != DType::resource) {
    context.fail_type(
        fmt::format("the handle of a stack is a resource, not {}", dtype_name(context.dtype(0))));
  }
}

std::unique_ptr<PreparedKernel> push_kernel(const KernelRequest& request) {
  return function_kernel([said = request.outputs[0].shape](const LaunchArgs& args) {
    const Array value = args.arrays->keep_input(1);
    stack_of(args).push(value);
    args.give_output(0, value, said);
  });
}

/// The same without an output.
std::unique_ptr<PreparedKernel> push_only_kernel(const KernelRequest&) {
  return function_kernel(
      [](const LaunchArgs& args) { stack_of(args).push(args.arrays->keep_input(1)); });
}

/// StackPushV2(stack, elem) whose output nothing reads -> _StackPush(stack, elem), which has no
/// output. The gradients of loops push all their values this way.
bool drop_pushed_value(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  if (graph.uses({id, 0}) > 0) return false;
  return graph.replace(id, "_StackPush", node.attrs, node.inputs);
}

std::unique_ptr<PreparedKernel> pop_kernel(const KernelRequest& request) {
  return function_kernel([desc = request.outputs[0]](const LaunchArgs& args) {
    const Array value = stack_of(args).pop();
    if (value.dtype() != desc.dtype) {
      throw errors::InvalidArgumentError(fmt::format(
          "a pop of {} from a stack of {}", dtype_name(desc.dtype), dtype_name(value.dtype())));
    }
    args.give_output(0, value, desc.shape);
  });
}

}  // namespace

static void register_stack_v2_ops(OpRegistry& registry) {
  const NoGradient none{"it moves values for gradients"};
  registry.add({.name = "StackV2",
                .inputs = {"max_size: int32"},
                .outputs = {"handle: resource"},
                .attrs = attributes<StackAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      context.add_output(DType::resource, Shape{2});  // as TensorFlow says
                    },
                .gradient = none,
                .effect = Effect::stateful,
                .uses_run_object = true});
  registry.add({.name = "StackPushV2",
                .inputs = {"handle: resource", "elem: T"},
                .outputs = {"output: T"},
                .attrs = attributes<StackPushAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      require_handle(context);
                      context.add_output(context.dtype(1), context.shape(1));
                    },
                .gradient = none,
                .effect = Effect::stateful,
                .keeps = {1},
                .gives = {0},
                .uses_run_object = true,
                .cost = no_cost});
  registry.add({.name = "_StackPush",
                .inputs = {"handle: resource", "elem: T"},
                .outputs = {},
                .attrs = attributes<StackPushAttrs>(),
                .shape = require_handle,
                .gradient = none,
                .effect = Effect::stateful,
                .keeps = {1},
                .uses_run_object = true,
                .cost = no_cost,
                .plan_only = true});
  registry.add({.name = "StackPopV2",
                .inputs = {"handle: resource"},
                .outputs = {"elem: elem_type"},
                .attrs = attributes<StackPopAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      require_handle(context);
                      context.add_output(context.attrs<StackPopAttrs>().elem_type,
                                         Shape::unknown());
                    },
                .gradient = none,
                .effect = Effect::stateful,
                .gives = {0},
                .uses_run_object = true,
                .cost = no_cost});
}

static void register_stack_v2_kernels(KernelTable& table) {
  table.add({.op = "StackV2", .label = "stack", .accepts = {}, .prepare = [](const KernelRequest&) {
               return function_kernel([](const LaunchArgs& args) {
                 args.output<Resource*>(0)[0] = &args.run->objects->add<TensorStack>();
                 args.output<Resource*>(0)[1] = nullptr;
               });
             }});
  table.add({.op = "StackPushV2", .label = "stack", .accepts = {}, .prepare = push_kernel});
  table.add({.op = "_StackPush", .label = "stack", .accepts = {}, .prepare = push_only_kernel});
  table.add({.op = "StackPopV2", .label = "stack", .accepts = {}, .prepare = pop_kernel});
}

static void register_stack_v2_rules(std::vector<RewriteRule>& rules) {
  rules.push_back({"push that nothing reads", "loops", drop_pushed_value, {"StackPushV2"}, {}});
}

OpFamily stack_v2_family() {
  return {.ops = register_stack_v2_ops,
          .kernels = register_stack_v2_kernels,
          .rules = register_stack_v2_rules};
}

Tensor stack_v2(const Tensor& max_size, DType elem_type, const std::string& name, Site site) {
  const Operand size(max_size, site);
  return OpBuilder("StackV2", name, site, {&size})
      .input(size, "max_size", DType::int32)
      .attrs(StackAttrs{elem_type, ""})
      .output();
}

Tensor stack_push_v2(const Tensor& handle, const Tensor& elem, bool swap_memory, Site site) {
  const Operand stack(handle, site), value(elem, site);
  return OpBuilder("StackPushV2", "", site, {&stack})
      .input(stack, "handle", DType::resource)
      .input(value, "elem")
      .attrs(StackPushAttrs{swap_memory})
      .output();
}

Tensor stack_pop_v2(const Tensor& handle, DType elem_type, Site site) {
  const Operand stack(handle, site);
  return OpBuilder("StackPopV2", "", site, {&stack})
      .input(stack, "handle", DType::resource)
      .attrs(StackPopAttrs{elem_type})
      .output();
}

}  // namespace towerflow
