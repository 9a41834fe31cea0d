#include "ops/control/stack.h"

#include <fmt/format.h>

#include <cstring>

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

/// The tensors of a stack. An Array that was popped is pushed again if it fits.
class TensorStack final : public RunObject {
 public:
  void push(const TensorDesc& desc, const void* data) {
    const std::lock_guard lock(mutex_);
    if (size_ == items_.size()) items_.emplace_back();
    Array& item = items_[size_];
    if (item.empty() || item.dtype() != desc.dtype || item.shape() != desc.shape) {
      item = Array(desc.dtype, desc.shape);
    }
    copy_elements(item.raw(), data, item);
    ++size_;
  }
  /// Calls `take` with the last tensor, and removes it. Throws InvalidArgumentError if there is
  /// none.
  template <class F>
  void pop(const F& take) {
    const std::lock_guard lock(mutex_);
    if (size_ == 0) throw errors::InvalidArgumentError("a pop from an empty stack");
    take(items_[size_ - 1]);
    --size_;
  }

  static void copy_elements(void* to, const void* from, const Array& like) {
    if (like.dtype() == DType::string) {
      std::copy_n(static_cast<const std::string*>(from), like.elements(),
                  static_cast<std::string*>(to));
    } else if (like.bytes() > 0) {
      std::memcpy(to, from, like.bytes());
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Array> items_;
  std::size_t size_ = 0;
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
  return function_kernel([desc = request.inputs[1]](const LaunchArgs& args) {
    stack_of(args).push(desc, args.inputs[1]);
    const Array like(desc.dtype, desc.shape, std::shared_ptr<void>(args.outputs[0], [](void*) {}));
    TensorStack::copy_elements(args.outputs[0], args.inputs[1], like);
  });
}

/// The same without an output.
std::unique_ptr<PreparedKernel> push_only_kernel(const KernelRequest& request) {
  return function_kernel([desc = request.inputs[1]](const LaunchArgs& args) {
    stack_of(args).push(desc, args.inputs[1]);
  });
}

/// StackPushV2(stack, elem) whose output nothing reads -> _StackPush(stack, elem), which has no
/// output to copy the value to. The gradients of loops push all their values this way.
bool drop_pushed_value(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  if (graph.uses({id, 0}) > 0) return false;
  return graph.replace(id, "_StackPush", node.attrs, node.inputs);
}

std::unique_ptr<PreparedKernel> pop_kernel(const KernelRequest& request) {
  return function_kernel([desc = request.outputs[0]](const LaunchArgs& args) {
    stack_of(args).pop([&](const Array& item) {
      if (item.dtype() != desc.dtype) {
        throw errors::InvalidArgumentError(fmt::format(
            "a pop of {} from a stack of {}", dtype_name(desc.dtype), dtype_name(item.dtype())));
      }
      TensorStack::copy_elements(args.output_memory(0, item.shape(), desc.shape), item.raw(), item);
    });
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
                .effect = Effect::stateful});
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
                .effect = Effect::stateful});
  registry.add({.name = "_StackPush",
                .inputs = {"handle: resource", "elem: T"},
                .outputs = {},
                .attrs = attributes<StackPushAttrs>(),
                .shape = require_handle,
                .gradient = none,
                .effect = Effect::stateful,
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
                .effect = Effect::stateful});
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
