// Ops and kernels of iterators.
#include <fmt/format.h>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/launch.h"
#include "dataset/iterator_attrs.h"
#include "dataset/iterator_resource.h"
#include "dataset/rows.h"
#include "ops/family.h"

namespace towerflow::data {
namespace {

/// Returns copies of the inputs of a launch from `first` on.
std::vector<Array> copied_inputs(const LaunchArgs& args, const std::vector<TensorDesc>& descs,
                                 std::size_t first) {
  std::vector<Array> values;
  for (std::size_t i = first; i < descs.size(); ++i) {
    // A view of the operand, to copy from.
    const Array view(descs[i].dtype, descs[i].shape,
                     std::shared_ptr<void>(const_cast<void*>(args.inputs[i]), [](void*) {}));
    values.push_back(view.copy());
  }
  return values;
}

IteratorResource& iterator_of(const LaunchArgs& args) {
  auto* iterator = dynamic_cast<IteratorResource*>(*args.input<Resource*>(0));
  if (iterator == nullptr) throw errors::InvalidArgumentError("the resource is not an iterator");
  return *iterator;
}

IteratorResource& iterator_named(const LaunchArgs& args, const std::string& name,
                                 const std::vector<DType>& dtypes,
                                 const std::vector<Shape>& shapes) {
  return args.run->resources.resource<IteratorResource>(name, [&] {
    return std::make_unique<IteratorResource>(ElementSpec{{}, dtypes, shapes}, name);
  });
}

/// Throws InvalidArgumentError unless elements of `found` fit outputs of these dtypes and shapes.
void check_element(const ElementSpec& found, const std::vector<DType>& dtypes,
                   const std::vector<Shape>& shapes) {
  if (found.dtypes.size() != dtypes.size()) {
    throw errors::InvalidArgumentError(
        fmt::format("Number of components does not match: expected {} types but got {}.",
                    dtypes.size(), found.dtypes.size()));
  }
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (found.dtypes[i] != dtypes[i]) {
      throw errors::InvalidArgumentError(
          fmt::format("Data type mismatch at component {}: expected {} but got {}.", i,
                      dtype_name(dtypes[i]), dtype_name(found.dtypes[i])));
    }
    if (i < shapes.size() && !shapes[i].compatible(found.shapes[i])) {
      throw errors::InvalidArgumentError(
          fmt::format("Incompatible shapes at component {}: expected {} but got {}.", i,
                      shapes[i].text(), found.shapes[i].text()));
    }
  }
}

std::unique_ptr<PreparedKernel> iterator_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<IteratorAttrs>();
  const std::string name = attrs.shared_name.empty() ? request.node : attrs.shared_name;
  return function_kernel([attrs, name](const LaunchArgs& args) {
    IteratorResource& iterator =
        iterator_named(args, name, attrs.output_types, attrs.output_shapes);
    check_element(iterator.spec(), attrs.output_types, attrs.output_shapes);
    *args.output<Resource*>(0) = &iterator;
  });
}

std::unique_ptr<PreparedKernel> one_shot_kernel(const KernelRequest& request) {
  return function_kernel([attrs = request.attributes<OneShotAttrs>(), name = request.node,
                          descs = request.inputs](const LaunchArgs& args) {
    IteratorResource& iterator =
        iterator_named(args, name, attrs.element.output_types, attrs.element.output_shapes);
    if (!iterator.initialized()) {
      iterator.initialize_once(*attrs.program, copied_inputs(args, descs, 0));
    }
    *args.output<Resource*>(0) = &iterator;
  });
}

std::unique_ptr<PreparedKernel> make_iterator_kernel(const KernelRequest& request) {
  return function_kernel([program = request.attributes<MakeIteratorAttrs>().program,
                          descs = request.inputs](const LaunchArgs& args) {
    iterator_of(args).initialize(*program, copied_inputs(args, descs, 1));
  });
}

class GetNextKernel final : public PreparedKernel {
 public:
  explicit GetNextKernel(const KernelRequest& request) : outputs_(request.outputs) {}
  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    ElementValue element;
    iterator_of(args).running()->next(element, args.run->cancellation,
                                      static_cast<CpuQueue&>(queue).pool());
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Array& value = element.at(i);
      const TensorDesc& desc = outputs_[i];
      void* out = args.output_memory(i, value.shape(), desc.shape);
      Array target(value.dtype(), value.shape(), std::shared_ptr<void>(out, [](void*) {}));
      copy_elements(value, 0, target, 0, value.elements());
    }
  }

 private:
  std::vector<TensorDesc> outputs_;
};

std::unique_ptr<PreparedKernel> position_kernel(const KernelRequest&) {
  return function_kernel([](const LaunchArgs& args) {
    *args.output<std::int64_t>(0) = static_cast<std::int64_t>(iterator_of(args).taken());
  });
}

std::unique_ptr<PreparedKernel> set_position_kernel(const KernelRequest&) {
  return function_kernel([](const LaunchArgs& args) {
    const std::int64_t taken = *args.input<std::int64_t>(1);
    if (taken < 0) {
      throw errors::DataLossError(
          fmt::format("the checkpoint's position of iterator '{}' cannot be: {} elements taken",
                      iterator_of(args).name(), taken));
    }
    iterator_of(args).skip(static_cast<std::uint64_t>(taken));
  });
}

std::unique_ptr<PreparedKernel> to_handle_kernel(const KernelRequest&) {
  return function_kernel(
      [](const LaunchArgs& args) { *args.output<std::string>(0) = iterator_of(args).name(); });
}

std::unique_ptr<PreparedKernel> from_handle_kernel(const KernelRequest& request) {
  return function_kernel(
      [attrs = request.attributes<IteratorFromHandleAttrs>()](const LaunchArgs& args) {
        const std::string& name = *args.input<std::string>(0);
        auto* iterator = args.run->resources.find_resource<IteratorResource>(name);
        if (iterator == nullptr) {
          throw errors::NotFoundError(fmt::format("no iterator has the handle '{}'", name),
                                      {.hint = "run `string_handle` in the same session"});
        }
        if (!attrs.output_types.empty()) {
          check_element(iterator->spec(), attrs.output_types, attrs.output_shapes);
        }
        *args.output<Resource*>(0) = iterator;
      });
}

}  // namespace

static void register_iterator_ops(OpRegistry& registry) {
  const auto add = [&](const char* name, ArgTexts inputs, ArgTexts outputs, AttrsDef attrs,
                       ShapeRule shape) {
    registry.add({.name = name,
                  .inputs = std::move(inputs),
                  .outputs = std::move(outputs),
                  .attrs = std::move(attrs),
                  .shape = std::move(shape),
                  .gradient = NoGradient{"elements of a dataset are input data"},
                  .effect = Effect::stateful});
  };
  const auto handle = [](InferenceContext& context) { context.add_output(DType::resource, {}); };
  add("IteratorV2", {}, {"handle: resource"}, attributes<IteratorAttrs>().fixed("container", ""),
      handle);
  // Without lists of attributes, so that no GraphDef can be made of them.
  add("_OneShotIterator", {"components: list(Tcomponents)"}, {"handle: resource"}, {}, handle);
  add("_MakeIterator", {"iterator: resource", "components: list(Tcomponents)"}, {}, {},
      [](InferenceContext&) {});
  add("IteratorGetNext", {"iterator: resource"}, {"components: list(output_types)"},
      attributes<GetNextAttrs>(), [](InferenceContext& context) {
        const auto& attrs = context.attrs<GetNextAttrs>();
        for (std::size_t i = 0; i < attrs.output_types.size(); ++i) {
          context.add_output(attrs.output_types[i], attrs.output_shapes.at(i));
        }
      });
  add("IteratorToStringHandle", {"resource_handle: resource"}, {"string_handle: string"}, {},
      [](InferenceContext& context) { context.add_output(DType::string, {}); });
  add("IteratorFromStringHandleV2", {"string_handle: string"}, {"resource_handle: resource"},
      attributes<IteratorFromHandleAttrs>(), handle);
  add("_IteratorPosition", {"iterator: resource"}, {"taken: int64"}, {},
      [](InferenceContext& context) { context.add_output(DType::int64, {}); });
  add("_SetIteratorPosition", {"iterator: resource", "taken: int64"}, {}, {},
      [](InferenceContext&) {});
}

static void register_iterator_kernels(KernelTable& table) {
  const auto add = [&](const char* op, auto prepare) {
    table.add({.op = op, .label = "dataset", .accepts = {}, .prepare = prepare});
  };
  add("IteratorV2", iterator_kernel);
  add("_OneShotIterator", one_shot_kernel);
  add("_MakeIterator", make_iterator_kernel);
  add("IteratorGetNext",
      [](const KernelRequest& request) { return std::make_unique<GetNextKernel>(request); });
  add("IteratorToStringHandle", to_handle_kernel);
  add("IteratorFromStringHandleV2", from_handle_kernel);
  add("_IteratorPosition", position_kernel);
  add("_SetIteratorPosition", set_position_kernel);
}

}  // namespace towerflow::data

namespace towerflow {

OpFamily iterator_family() {
  return {.ops = data::register_iterator_ops, .kernels = data::register_iterator_kernels};
}

}  // namespace towerflow
