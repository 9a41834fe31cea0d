#include <fmt/format.h>

#include "core/graph/capture.h"
#include "core/graph/error.h"
#include "dataset/definition.h"
#include "dataset/parallel_map.h"
#include "dataset/rows.h"

namespace towerflow::data {
namespace {

class MapIterator final : public DatasetIterator {
 public:
  MapIterator(std::unique_ptr<DatasetIterator> input, FunctionCall function, bool stateful)
      : input_(std::move(input)), function_(std::move(function)), stateful_(stateful) {}
  bool next(ElementValue& element, const Pull& pull) override {
    if (!input_->next(element, pull)) return false;
    const std::span<const Array> results = function_(element);
    element.assign(results.begin(), results.end());
    return true;
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    return stateful_ ? DatasetIterator::skip(count, pull) : input_->skip(count, pull);
  }

 private:
  std::unique_ptr<DatasetIterator> input_;
  FunctionCall function_;
  bool stateful_;
};

class FilterIterator final : public DatasetIterator {
 public:
  FilterIterator(std::unique_ptr<DatasetIterator> input, FunctionCall predicate)
      : input_(std::move(input)), predicate_(std::move(predicate)) {}
  bool next(ElementValue& element, const Pull& pull) override {
    while (input_->next(element, pull)) {
      pull.check();
      if (predicate_(element)[0].item<bool>()) return true;
    }
    return false;
  }

 private:
  std::unique_ptr<DatasetIterator> input_;
  FunctionCall predicate_;
};

}  // namespace

std::vector<Tensor> function_results(const Element& element) {
  Graph& graph = get_default_graph();
  std::vector<Tensor> tensors;
  for (const Operand& component : element.components()) {
    Tensor tensor = convert_operand(graph, component, "", std::nullopt);
    if (&tensor.graph() != &graph) tensor = CaptureScope::of(graph)->capture(tensor);
    tensors.push_back(tensor);
  }
  return tensors;
}

Dataset Dataset::map_elements(const ElementFunction& function, MapOptions options,
                              Site site) const {
  ElementSpec spec;
  const auto body = std::make_shared<DatasetFunction>(
      element_spec(),
      [&](const Element& element) {
        const Element result = function(element);
        spec.structure = result.structure();
        return function_results(result);
      },
      site);
  for (const Tensor& result : body->results()) {
    spec.dtypes.push_back(result.dtype());
    spec.shapes.push_back(result.shape());
  }
  std::vector<Tensor> arguments = body->captured();
  const bool parallel = options.num_parallel_calls.has_value();
  if (parallel) {
    arguments.push_back(dataset_argument(Operand(*options.num_parallel_calls, site),
                                         "num_parallel_calls", DType::int64));
  }
  return make_dataset(
      {.op = parallel ? "ParallelMapDatasetV2" : "MapDataset",
       .inputs = {*this},
       .arguments = arguments,
       .element = std::move(spec),
       .instantiate = [body, parallel](const auto& inputs,
                                       const std::vector<Array>& values) -> DatasetInstance {
         const bool stateful = body->stateful();
         std::vector<Array> captured = values;
         std::int64_t threads = 1;
         if (parallel) {
           threads = checked_parallel_calls(values.back());
           captured.pop_back();
         }
         return
             [=, input = inputs[0]](IteratorContext& context) -> std::unique_ptr<DatasetIterator> {
               // The order of calls decides what a function with state returns.
               if (!parallel || stateful) {
                 return std::make_unique<MapIterator>(
                     input(context), FunctionCall(body, context, captured), stateful);
               }
               return parallel_map(input(context), body, captured, threads, context);
             };
       },
       .site = site});
}

Dataset Dataset::filter_elements(const ElementFunction& predicate, Site site) const {
  const auto body = std::make_shared<DatasetFunction>(
      element_spec(), [&](const Element& element) { return function_results(predicate(element)); },
      site);
  const std::vector<Tensor>& results = body->results();
  if (results.size() != 1 || results[0].dtype() != DType::bool_ ||
      !results[0].shape().compatible(Shape{})) {
    throw ValueError("Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor",
                     {.site = site});
  }
  return make_dataset({.op = "FilterDataset",
                       .inputs = {*this},
                       .arguments = body->captured(),
                       .element = element_spec(),
                       .instantiate = [body](const auto& inputs, const std::vector<Array>& captured)
                           -> DatasetInstance {
                         return [=, input = inputs[0]](IteratorContext& context) {
                           return std::make_unique<FilterIterator>(
                               input(context), FunctionCall(body, context, captured));
                         };
                       },
                       .site = site});
}

}  // namespace towerflow::data
