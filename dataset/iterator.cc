#include "dataset/iterator.h"

#include <fmt/format.h>

#include <set>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "dataset/iterator_attrs.h"

namespace towerflow::data {
namespace {

/// Throws TypeError unless an iterator can return the elements of a dataset.
void check_same_elements(const ElementSpec& iterator, const ElementSpec& dataset, Site site) {
  bool fits = iterator.structure == dataset.structure && iterator.dtypes == dataset.dtypes;
  for (std::size_t i = 0; fits && i < iterator.shapes.size(); ++i) {
    fits = iterator.shapes[i].compatible(dataset.shapes[i]);
  }
  if (fits) return;
  throw TypeError(fmt::format("Expected elements {} but got a dataset with elements {}.",
                              iterator.text(), dataset.text()),
                  {.site = site});
}

Operation add_make_iterator(const Tensor& resource, const Dataset& dataset, const std::string& name,
                            Site site) {
  const auto program = std::make_shared<const DatasetProgram>(dataset.definition());
  const auto beside = colocate_with(resource.op(), false, site);
  OpBuilder builder("_MakeIterator", name, "MakeIterator", site, {});
  builder.input(resource, "iterator");
  builder.inputs(program->tensors(), "arguments");
  return builder.attrs(MakeIteratorAttrs{.program = program}).build();
}

/// Throws ValueError if a tensor depends on a placeholder or on state.
void check_captured_by_value(const Tensor& tensor, Site site) {
  std::vector<const Node*> stack{&tensor.node()};
  std::set<const Node*> seen;
  while (!stack.empty()) {
    const Node& node = *stack.back();
    stack.pop_back();
    if (!seen.insert(&node).second) continue;
    const bool fed = node.op->name == "Placeholder";
    if (fed || node.op->effect != Effect::pure) {
      throw ValueError(
          fmt::format("Cannot capture a {} (name:{}, type:{}) by value.",
                      fed ? "placeholder" : "stateful node", node.name, node.op->name),
          {.site = site,
           .hint = "a dataset that depends on it needs make_initializable_iterator()"});
    }
    for (const Tensor& input : node.inputs) stack.push_back(&input.node());
  }
}

}  // namespace

namespace types {

Iterator::Iterator(Tensor resource, ElementSpec element, const Dataset* dataset, Site site)
    : resource_(resource), spec_(std::move(element)) {
  if (dataset != nullptr) initializer_ = add_make_iterator(resource, *dataset, "", site);
  add_to_collection("iterators", resource);
  string_handle_ =
      OpBuilder("IteratorToStringHandle", "", site, {}).input(resource, "resource_handle").output();
}

Iterator Iterator::of_structure(ElementSpec element, const IteratorOptions& options,
                                const Dataset* dataset, Site site) {
  std::optional<ColocationScope> beside;
  if (dataset != nullptr) {
    const Tensor& handle = dataset->definition()->handle;
    beside.emplace(handle.graph(), &handle.node(), false, site);
  }
  const Tensor resource =
      OpBuilder("IteratorV2", "", site, {})
          .attrs(IteratorAttrs{options.shared_name, element.dtypes, element.shapes})
          .output();
  return Iterator(resource, std::move(element), dataset, site);
}

Iterator Iterator::from_structure(ElementSpec element, IteratorOptions options, Site site) {
  return of_structure(std::move(element), options, nullptr, site);
}

Iterator Iterator::from_structure(std::vector<DType> output_types, std::vector<Shape> output_shapes,
                                  IteratorOptions options, Site site) {
  return from_structure(ElementSpec::of(std::move(output_types), std::move(output_shapes)),
                        std::move(options), site);
}

Iterator Iterator::from_string_handle(const Operand& handle, ElementSpec element, Site site) {
  const Tensor string = convert_operand(graph_of(handle), handle, "", DType::string);
  const Tensor resource = OpBuilder("IteratorFromStringHandleV2", "", site, {&handle})
                              .input(string, "string_handle")
                              .attrs(IteratorFromHandleAttrs{element.dtypes, element.shapes})
                              .output();
  return Iterator(resource, std::move(element), nullptr, site);
}

Iterator Iterator::from_string_handle(const Operand& handle, std::vector<DType> output_types,
                                      std::vector<Shape> output_shapes, Site site) {
  return from_string_handle(
      handle, ElementSpec::of(std::move(output_types), std::move(output_shapes)), site);
}

Operation Iterator::initializer(Site site) const {
  if (initializer_) return *initializer_;
  throw ValueError(
      "The iterator does not have an initializer. This means it was likely created using "
      "`make_one_shot_iterator()`. For an initializable iterator, use "
      "`make_initializable_iterator()` instead.",
      {.site = site});
}

Operation Iterator::make_initializer(const Dataset& dataset, IteratorOpOptions options,
                                     Site site) const {
  check_same_elements(spec_, dataset.element_spec(), site);
  return add_make_iterator(resource_, dataset,
                           options.name.empty() ? "make_initializer" : options.name, site);
}

Element Iterator::get_next(IteratorOpOptions options, Site site) const {
  const auto beside = colocate_with(resource_.op(), false, site);
  const Operation op = OpBuilder("IteratorGetNext", options.name, site, {})
                           .input(resource_, "iterator")
                           .attrs(GetNextAttrs{spec_.dtypes, spec_.shapes})
                           .build();
  return Element::of(spec_.structure, op.outputs());
}

Iterator Dataset::make_initializable_iterator(IteratorOptions options, Site site) const {
  return Iterator::of_structure(element_spec(), options, this, site);
}
Iterator Dataset::make_initializable_iterator(Site site) const {
  return make_initializable_iterator({}, site);
}

Iterator Dataset::make_one_shot_iterator(Site site) const {
  const auto program = std::make_shared<const DatasetProgram>(definition());
  // TensorFlow draws a seed for the function that makes the dataset.
  Graph& graph = get_default_graph();
  random::get_seed(graph.seed, std::nullopt, graph.next_op_seed);
  for (const Tensor& tensor : program->tensors()) check_captured_by_value(tensor, site);
  const ElementSpec& element = element_spec();
  const auto beside = colocate_with(definition()->handle.op(), false, site);
  const Tensor resource = OpBuilder("_OneShotIterator", "", "OneShotIterator", site, {})
                              .inputs(program->tensors(), "arguments")
                              .attrs(OneShotAttrs{{element.dtypes, element.shapes}, program})
                              .output();
  return Iterator(resource, element, nullptr, site);
}

}  // namespace types

Iterator make_one_shot_iterator(const Dataset& dataset, Site site) {
  return dataset.make_one_shot_iterator(site);
}

Iterator make_initializable_iterator(const Dataset& dataset, IteratorOptions options, Site site) {
  return dataset.make_initializable_iterator(std::move(options), site);
}

}  // namespace towerflow::data
