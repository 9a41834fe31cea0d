#include "dataset/function.h"

#include <fmt/format.h>

#include "core/graph/capture.h"
#include "core/graph/op_def.h"
#include "ops/array/placeholder.h"

namespace towerflow::data {

DatasetFunction::DatasetFunction(const ElementSpec& element,
                                 const std::function<std::vector<Tensor>(const Element&)>& body,
                                 Site site) {
  graph_.seed = get_default_graph().seed;
  const auto inside = graph_.as_default();
  for (std::size_t i = 0; i < element.dtypes.size(); ++i) {
    feeds_.push_back(placeholder(element.dtypes[i], element.shapes[i],
                                 {.name = fmt::format("args_{}", i)}, site));
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
  results_ = body(Element::of(element.structure, feeds_));
  feeds_.insert(feeds_.end(), stand_ins.begin(), stand_ins.end());
}

bool DatasetFunction::stateful() const {
  for (const Operation& op : graph_.get_operations()) {
    const OpDef& def = *op.node().op;
    if (def.effect != Effect::pure && def.name != "Placeholder" && def.name != "_Dataset") {
      return true;
    }
  }
  return false;
}

Callable IteratorContext::callable(const std::shared_ptr<DatasetFunction>& function) {
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
                                         function->feeds());
}

FunctionCall::FunctionCall(const std::shared_ptr<DatasetFunction>& function,
                           IteratorContext& context, const std::vector<Array>& captured)
    : callable_(context.callable(function)),
      components_(function->feeds().size() - captured.size()) {
  values_.resize(components_);
  values_.insert(values_.end(), captured.begin(), captured.end());
}

std::span<const Array> FunctionCall::operator()(ElementValue& element) {
  for (std::size_t i = 0; i < components_; ++i) values_[i] = std::move(element[i]);
  try {
    const std::span<const Array> results = callable_(values_);
    for (std::size_t i = 0; i < components_; ++i) values_[i] = {};
    return results;
  } catch (const errors::OutOfRangeError& error) {
    // To a training loop it would mean the end of the input.
    throw errors::InvalidArgumentError(
        fmt::format("Function invocation produced OutOfRangeError: {}", error.message()),
        error.detail());
  }
}

}  // namespace towerflow::data
