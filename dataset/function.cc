#include "dataset/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/device/cpu/launch.h"
#include "core/graph/capture.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "dataset/rows.h"
#include "ops/array/placeholder.h"
#include "ops/family.h"

namespace towerflow::data {
namespace {

constexpr std::size_t kMaxFedShapes = 8;  // plans for fed values, beyond which one fits all shapes

/// The element for which this thread calls a function.
thread_local const ElementValue* called_element = nullptr;

/// Attributes of _DatasetArgument, a component of the element for which a function is called.
struct ArgumentAttrs {
  std::int64_t index = 0;
  DType dtype = DType::invalid;
  Shape shape = Shape::unknown();
  static constexpr auto fields = std::tuple{attr::required("index", &ArgumentAttrs::index),
                                            attr::required("dtype", &ArgumentAttrs::dtype),
                                            attr::required("shape", &ArgumentAttrs::shape)};
};

std::unique_ptr<PreparedKernel> argument_kernel(const KernelRequest& request) {
  return function_kernel(
      [index = static_cast<std::size_t>(request.attributes<ArgumentAttrs>().index),
       declared = request.outputs[0].shape](const LaunchArgs& args) {
        const Array& value = called_element->at(index);
        void* out = args.output_memory(0, value.shape(), declared);
        Array target(value.dtype(), value.shape(), std::shared_ptr<void>(out, [](void*) {}));
        copy_elements(value, 0, target, 0, value.elements());
      });
}

}  // namespace

static void register_dataset_argument_ops(OpRegistry& registry) {
  registry.add({.name = "_DatasetArgument",
                .outputs = {"value: dtype"},
                .attrs = attributes<ArgumentAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      const auto& attrs = context.attrs<ArgumentAttrs>();
                      context.add_output(attrs.dtype, attrs.shape);
                    },
                .gradient = NoGradient{"elements of a dataset are input data"},
                .effect = Effect::stateful});
}

static void register_dataset_argument_kernels(KernelTable& table) {
  table.add(
      {.op = "_DatasetArgument", .label = "dataset", .accepts = {}, .prepare = argument_kernel});
}

}  // namespace towerflow::data

namespace towerflow {

OpFamily dataset_argument_family() {
  return {.ops = data::register_dataset_argument_ops,
          .kernels = data::register_dataset_argument_kernels};
}

}  // namespace towerflow

namespace towerflow::data {

DatasetFunction::DatasetFunction(const ElementSpec& element,
                                 const std::function<std::vector<Tensor>(const Element&)>& body,
                                 Site site) {
  graph_.seed = get_default_graph().seed;
  const auto inside = graph_.as_default();
  for (std::size_t i = 0; i < element.dtypes.size(); ++i) {
    arguments_.push_back(OpBuilder("_DatasetArgument", fmt::format("args_{}", i), site)
                             .attrs(ArgumentAttrs{static_cast<std::int64_t>(i), element.dtypes[i],
                                                  element.shapes[i]})
                             .output());
  }
  std::vector<Tensor> stand_ins;
  const CaptureScope capture(graph_, [&](const Tensor& tensor) {
    if (tensor.is_ref() || tensor.dtype() == DType::resource) {
      throw errors::UnimplementedError(
          fmt::format("the function of a dataset cannot use {}, whose state is in the session of "
                      "the graph around it",
                      tensor.name()),
          {.site = site, .hint = "it can use the values of variables and other tensors"});
    }
    captured_.push_back(tensor);
    stand_ins.push_back(placeholder(tensor.dtype(), tensor.shape(), {.name = "captured"}, site));
    return stand_ins.back();
  });
  results_ = body(Element::of(element.structure, arguments_));
  arguments_.insert(arguments_.end(), stand_ins.begin(), stand_ins.end());
}

bool DatasetFunction::stateful() const {
  for (const Operation& op : graph_.get_operations()) {
    const OpDef& def = *op.node().op;
    if (def.effect == Effect::pure || def.name == "Placeholder") continue;
    if (def.name != "_Dataset" && def.name != "_DatasetArgument") return true;
  }
  return false;
}

Callable IteratorContext::callable(const std::shared_ptr<DatasetFunction>& function,
                                   std::vector<Tensor> feeds) {
  std::lock_guard lock(mutex_);
  Computed& computed = functions_[function.get()];
  if (computed.session == nullptr) {
    computed.function = function;
    // Parallel calls compute on the threads of the dataset.
    ConfigProto config;
    config.intra_op_parallelism_threads = 1;
    computed.session = std::make_unique<Session>(function->graph(), config);
  }
  const std::vector<Tensor>& results = function->results();
  return computed.session->make_callable(std::vector<Fetch>(results.begin(), results.end()),
                                         std::move(feeds));
}

FunctionCall::FunctionCall(std::shared_ptr<DatasetFunction> function, IteratorContext& context,
                           const std::vector<Array>& captured)
    : function_(std::move(function)),
      context_(context),
      callable_(context.callable(function_, function_->arguments())),
      captured_(captured) {
  const std::size_t components = function_->arguments().size() - captured.size();
  for (std::size_t i = 0; i < components; ++i) {
    fed_.push_back(i);
    if (!function_->arguments()[i].shape().fully_known()) not_known_.push_back(i);
  }
  values_.resize(components);
  values_.insert(values_.end(), captured.begin(), captured.end());
}

std::span<const Array> FunctionCall::operator()(ElementValue& element) {
  if (!not_known_.empty() && has_new_shapes(element) && shapes_.size() > kMaxFedShapes) {
    stop_feeding();
  }
  for (std::size_t i = 0; i < fed_.size(); ++i) values_[i] = element[fed_[i]];
  const ElementValue* outer = std::exchange(called_element, &element);
  try {
    const std::span<const Array> results = callable_(values_);
    called_element = outer;
    for (std::size_t i = 0; i < fed_.size(); ++i) values_[i] = {};
    return results;
  } catch (const errors::OutOfRangeError& error) {
    called_element = outer;
    // To a training loop it would mean the end of the input.
    throw errors::InvalidArgumentError(
        fmt::format("Function invocation produced OutOfRangeError: {}", error.message()),
        error.detail());
  } catch (...) {
    called_element = outer;
    throw;
  }
}

bool FunctionCall::has_new_shapes(const ElementValue& element) {
  const auto same = [&](const std::vector<Shape>& seen) {
    for (std::size_t i = 0; i < not_known_.size(); ++i) {
      if (seen[i] != element[not_known_[i]].shape()) return false;
    }
    return true;
  };
  if (std::any_of(shapes_.begin(), shapes_.end(), same)) return false;
  std::vector<Shape> shapes;
  for (const std::size_t component : not_known_) shapes.push_back(element[component].shape());
  shapes_.push_back(std::move(shapes));
  return true;
}

void FunctionCall::stop_feeding() {
  for (const std::size_t component : not_known_) std::erase(fed_, component);
  not_known_.clear();
  shapes_.clear();
  std::vector<Tensor> feeds;
  const std::vector<Tensor>& arguments = function_->arguments();
  for (const std::size_t component : fed_) feeds.push_back(arguments[component]);
  feeds.insert(feeds.end(), arguments.end() - static_cast<std::ptrdiff_t>(captured_.size()),
               arguments.end());
  callable_ = context_.callable(function_, std::move(feeds));
  values_.assign(fed_.size(), {});
  values_.insert(values_.end(), captured_.begin(), captured_.end());
}

}  // namespace towerflow::data
