#include "dataset/definition.h"

#include <fmt/format.h>

#include <map>

#include "core/graph/capture.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow::data {
namespace {

/// Attributes of _Dataset, the node of every dataset. It is never run: an iterator has the
/// definition.
struct DatasetAttrs {
  std::string kind;           ///< TensorFlow's op
  std::int64_t scalars_from;  ///< the inputs from here to
  std::int64_t scalars_to;    ///< here must be scalars
  static constexpr auto fields =
      std::tuple{attr::required("kind", &DatasetAttrs::kind),
                 attr::required("scalars_from", &DatasetAttrs::scalars_from),
                 attr::required("scalars_to", &DatasetAttrs::scalars_to)};
};

void dataset_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<DatasetAttrs>();
  for (std::int64_t i = attrs.scalars_from; i < attrs.scalars_to; ++i) {
    const Shape& shape = context.shape(static_cast<std::size_t>(i));
    if (shape.has_rank() && shape.rank() != 0) {
      context.fail(fmt::format("Shape must be rank 0 but is rank {}: an argument of {}",
                               shape.rank(), attrs.kind));
    }
  }
  context.add_output(DType::resource, Shape{});
}

}  // namespace

// Without a list of attributes, so that no GraphDef can be made of it.
static void register_dataset_ops(OpRegistry& registry) {
  registry.add({.name = "_Dataset",
                .inputs = {"components: list(Tcomponents)"},
                .outputs = {"handle: resource"},
                .shape = dataset_shape,
                .gradient = NoGradient{"a dataset is input data"},
                .effect = Effect::stateful});
}

}  // namespace towerflow::data

namespace towerflow {

OpFamily dataset_family() { return {.ops = data::register_dataset_ops}; }

}  // namespace towerflow

namespace towerflow::data {

Tensor dataset_argument(const Operand& operand, const char* name, DType dtype) {
  return convert_operand(get_default_graph(), operand, name, dtype);
}

std::shared_ptr<const DatasetDefinition> captured_definition(
    const std::shared_ptr<const DatasetDefinition>& definition) {
  Graph& graph = get_default_graph();
  if (&definition->handle.graph() == &graph) return definition;
  CaptureScope* scope = CaptureScope::of(graph);
  if (scope == nullptr) {
    throw ValueError(
        fmt::format("the dataset {} is from another graph", definition->handle.op().name()),
        {.hint = "build the whole program under one graph.as_default()"});
  }
  auto made = std::make_shared<DatasetDefinition>(*definition);
  for (auto& input : made->inputs) input = captured_definition(input);
  for (Tensor& argument : made->arguments) {
    if (&argument.graph() != &graph) argument = scope->capture(argument);
  }
  return made;
}

Dataset make_dataset(DatasetSpec spec) {
  auto definition = std::make_shared<DatasetDefinition>();
  std::vector<Tensor> handles;
  for (const Dataset& input : spec.inputs) {
    definition->inputs.push_back(captured_definition(input.definition()));
    const Tensor& handle = definition->inputs.back()->handle;
    if (&handle.graph() == &get_default_graph()) handles.push_back(handle);
  }
  OpBuilder builder("_Dataset", spec.name, spec.op, spec.site, {});
  builder.inputs(handles, "input_datasets");
  builder.inputs(spec.arguments, "arguments");
  const auto first = static_cast<std::int64_t>(handles.size());
  const auto scalars = static_cast<std::int64_t>(spec.scalars);
  const Operation op = builder.attrs(DatasetAttrs{spec.op, first, first + scalars}).build();
  const std::vector<Tensor> inputs = op.inputs();  // captured, if the graph is a function's
  definition->handle = op.output(0);
  definition->spec = std::move(spec.element);
  definition->arguments.assign(inputs.begin() + static_cast<std::ptrdiff_t>(handles.size()),
                               inputs.end());
  definition->instantiate = std::move(spec.instantiate);
  return Dataset(std::move(definition));
}

DatasetProgram::DatasetProgram(std::shared_ptr<const DatasetDefinition> root) { add(root); }

std::size_t DatasetProgram::add(const std::shared_ptr<const DatasetDefinition>& definition) {
  // A dataset that is used twice is instantiated twice, as in TensorFlow: both have the same order.
  Step step{definition, {}, {}, {}};
  for (const auto& input : definition->inputs) step.inputs.push_back(add(input));
  for (const Tensor& argument : definition->arguments) {
    const auto* constant = argument.op().attrs().get_if<ConstAttrs>();
    step.constants.push_back(constant != nullptr ? constant->value : Array());
    step.computed.push_back(tensors_.size());
    if (constant == nullptr) tensors_.push_back(argument);
  }
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

DatasetInstance DatasetProgram::instantiate(const std::vector<Array>& values) const {
  std::vector<DatasetInstance> made;
  for (const Step& step : steps_) {
    std::vector<DatasetInstance> inputs;
    for (const std::size_t input : step.inputs) inputs.push_back(made[input]);
    std::vector<Array> arguments = step.constants;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].empty()) arguments[i] = values.at(step.computed[i]);
    }
    made.push_back(step.definition->instantiate(inputs, arguments));
  }
  return made.back();
}

const std::shared_ptr<const DatasetDefinition>& Dataset::definition() const {
  if (definition_ == nullptr) throw ValueError("a Dataset that was not assigned is used");
  return definition_;
}

const ElementSpec& Dataset::element_spec() const { return definition()->spec; }

}  // namespace towerflow::data
