// What cuDNN checks when a descriptor is finalized. The statuses are those of the library; where
// it ends the process (a missing engine, an unknown type), there is a status here.
#include <algorithm>

#include "cuda/host/dnn_graph.h"

namespace towerflow::cuda::host {
namespace {

cudnnStatus_t bad(const char* text) { return dnn_error(CUDNN_STATUS_BAD_PARAM, text); }

cudnnStatus_t finalize_tensor(DnnDescriptor& d) {
  if (!d.has(CUDNN_ATTR_TENSOR_DATA_TYPE)) return bad("the tensor has no data type");
  const auto number = number_of(d.get(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
  if (!number) {
    return dnn_error(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the data type is not emulated");
  }
  const auto dims = d.list<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = d.list<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (dims.empty() || dims.size() != strides.size()) {
    return bad("dimensions and strides differ in number, or are not set");
  }
  if (dims.size() > CUDNN_DIM_MAX) return bad("the tensor has more than 8 dimensions");
  const auto negative = [](std::int64_t value) { return value < 0; };
  if (std::any_of(dims.begin(), dims.end(), negative) ||
      std::any_of(strides.begin(), strides.end(), negative)) {
    return bad("a dimension or a stride is negative");
  }
  const auto alignment = d.get<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  if (alignment <= 0 || alignment % static_cast<std::int64_t>(size_of(*number)) != 0) {
    return bad("the alignment is no positive multiple of an element's size");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_operation(DnnDescriptor& d) {
  std::string why;
  return read_operation(d, why) ? CUDNN_STATUS_SUCCESS : dnn_error(CUDNN_STATUS_BAD_PARAM, why);
}

std::optional<DnnGraph> graph_of(const DnnDescriptor& graph) {
  std::string why;
  return build_graph(graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors, why);
}

cudnnStatus_t finalize_graph(DnnDescriptor& d) {
  if (!d.has(CUDNN_ATTR_OPERATIONGRAPH_OPS)) return bad("the graph has no operations");
  std::string why;
  if (!build_graph(d.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors, why)) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM, why);
  }
  d.put<std::int64_t>(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64,
                      {kDnnEngines});
  return CUDNN_STATUS_SUCCESS;
}

/// Returns a finalized descriptor of an engine for a graph.
DnnDescriptorPtr make_engine(const DnnDescriptorPtr& graph, const DnnEngine& engine) {
  auto made = std::make_shared<DnnDescriptor>();
  made->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  made->finalized = true;
  made->put(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph});
  made->put<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {engine.index});
  made->put(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, engine.notes);
  made->put(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, engine.behavior);
  return made;
}

DnnDescriptorPtr make_knob(cudnnBackendKnobType_t type, std::int64_t value) {
  auto made = std::make_shared<DnnDescriptor>();
  made->type = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
  made->finalized = true;
  made->put<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, {type});
  made->put<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, {value});
  return made;
}

DnnDescriptorPtr make_config(const DnnDescriptorPtr& graph, const DnnEngine& engine) {
  auto made = std::make_shared<DnnDescriptor>();
  made->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  made->finalized = true;
  made->put(CUDNN_ATTR_ENGINECFG_ENGINE, {make_engine(graph, engine)});
  std::vector<DnnDescriptorPtr> knobs;
  for (const auto& [type, value] : engine.knobs) knobs.push_back(make_knob(type, value));
  if (!knobs.empty()) made->put(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, std::move(knobs));
  made->put<std::int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                          {static_cast<std::int64_t>(engine.workspace)});
  return made;
}

cudnnStatus_t finalize_heuristics(DnnDescriptor& d) {
  const DnnDescriptorPtr graph = d.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (graph == nullptr) return bad("the heuristics have no operation graph");
  std::string why;
  std::vector<DnnEngine> engines = engines_of(*graph_of(*graph), why);
  // The fallback is what is certain to work: no workspace, no rounding. The first heuristics
  // propose nothing exact for dilated convolutions, as may happen on a card.
  const auto mode = d.get(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  if (mode == CUDNN_HEUR_MODE_FALLBACK) {
    std::erase_if(engines, [](const DnnEngine& e) { return !e.notes.empty() || e.workspace != 0; });
  } else if (mode == CUDNN_HEUR_MODE_A && graph_of(*graph)->has_dilated_convolution()) {
    std::erase_if(engines, [](const DnnEngine& e) { return e.notes.empty(); });
  }
  std::vector<DnnDescriptorPtr> results;
  for (const DnnEngine& engine : engines) results.push_back(make_config(graph, engine));
  d.put(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(results));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_engine(DnnDescriptor& d) {
  const DnnDescriptorPtr graph = d.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (graph == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the engine has no operation graph");
  }
  const auto index = d.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
  std::string why;
  for (const DnnEngine& engine : engines_of(*graph_of(*graph), why)) {
    if (engine.index == index) {
      d.values = make_engine(graph, engine)->values;
      return CUDNN_STATUS_SUCCESS;
    }
  }
  return dnn_error(CUDNN_STATUS_NOT_SUPPORTED,
                   why.empty() ? "the graph has no engine of this index" : why);
}

cudnnStatus_t finalize_config(DnnDescriptor& d) {
  const DnnDescriptorPtr engine = d.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  if (engine == nullptr) return bad("the configuration has no engine");
  const auto found = find_engine(d);
  if (!found) {
    return dnn_error(CUDNN_STATUS_NOT_SUPPORTED, "the engine has no such knob, or no such value");
  }
  d.put<std::int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                      {static_cast<std::int64_t>(found->second.workspace)});
  return CUDNN_STATUS_SUCCESS;
}

/// Returns whether the knobs of an engine have the values that a configuration sets.
bool has_knobs(const DnnEngine& engine, const DnnDescriptor& configuration) {
  const auto set = configuration.values.find(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  if (set == configuration.values.end()) return true;
  const auto& choices = set->second.descriptors;
  return std::all_of(choices.begin(), choices.end(), [&](const DnnDescriptorPtr& choice) {
    const auto own =
        engine.knobs.find(choice->get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_KNOB_TYPE_COUNTS));
    return own != engine.knobs.end() &&
           own->second == choice->get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, -1);
  });
}

cudnnStatus_t finalize_plan(DnnDescriptor& d) {
  const DnnDescriptorPtr config = d.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (config == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the plan has no configuration");
  }
  d.put(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
        config->list<std::int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_pack(DnnDescriptor& d) {
  const auto uids = d.list<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = d.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  return uids.size() == pointers.size() ? CUDNN_STATUS_SUCCESS
                                        : bad("pointers and UIDs differ in number");
}

}  // namespace

std::optional<std::pair<DnnGraph, DnnEngine>> find_engine(const DnnDescriptor& configuration) {
  const DnnDescriptor& engine = *configuration.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  DnnGraph graph = *graph_of(*engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  const auto index = engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
  std::string why;
  for (DnnEngine& candidate : engines_of(graph, why)) {
    if (candidate.index == index && has_knobs(candidate, configuration)) {
      return std::pair{std::move(graph), std::move(candidate)};
    }
  }
  return std::nullopt;
}

cudnnStatus_t finalize(DnnDescriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return finalize_tensor(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return read_convolution(d) ? CUDNN_STATUS_SUCCESS
                                 : bad("the convolution's attributes are missing or do not fit");
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      // The library lets these pass, and fails or computes something later.
      return d.has(CUDNN_ATTR_POINTWISE_MODE) && d.has(CUDNN_ATTR_POINTWISE_MATH_PREC)
                 ? CUDNN_STATUS_SUCCESS
                 : bad("the mode or the precision is not set");
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return finalize_graph(d);
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR:
      return d.has(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE) && d.has(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)
                 ? CUDNN_STATUS_SUCCESS
                 : bad("the knob or its value is not set");
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return finalize_heuristics(d);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return finalize_engine(d);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return finalize_config(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return finalize_plan(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return finalize_pack(d);
    default:
      return finalize_operation(d);
  }
}

}  // namespace towerflow::cuda::host
