#include "cuda/backend/dnn_descriptors.h"

#include "cuda/backend/check.h"

namespace towerflow::cuda {

cudnnDataType_t dnn_type(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CUDNN_DATA_DOUBLE;
    case DType::float16:
      return CUDNN_DATA_HALF;
    case DType::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

cudnnDataType_t dnn_compute_type(DType dtype) {
  return dtype == DType::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

DnnDescriptors::~DnnDescriptors() {
  for (const Descriptor descriptor : made_) {
    device_->table().cudnnBackendDestroyDescriptor(descriptor);
  }
}

DnnDescriptors::Descriptor DnnDescriptors::make(cudnnBackendDescriptorType_t type) {
  Descriptor made = nullptr;
  TOWERFLOW_CUDA(device_->table(), cudnnBackendCreateDescriptor(type, &made));
  made_.push_back(made);
  return made;
}

void DnnDescriptors::set(Descriptor descriptor, Name name, cudnnBackendAttributeType_t type,
                         std::int64_t count, const void* values) {
  TOWERFLOW_CUDA(device_->table(), cudnnBackendSetAttribute(descriptor, name, type, count, values));
}

void DnnDescriptors::finalize(Descriptor descriptor) {
  TOWERFLOW_CUDA(device_->table(), cudnnBackendFinalize(descriptor));
}

DnnDescriptors::Descriptor DnnDescriptors::tensor(std::int64_t uid, DType dtype, const Dims& sizes,
                                                  const Dims& strides, bool is_virtual) {
  constexpr std::int64_t kAlignment = 16;
  const Descriptor made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, dnn_type(dtype));
  set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  set(made, CUDNN_ATTR_TENSOR_STRIDES, strides);
  set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, uid);
  set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  finalize(made);
  return made;
}

DnnDescriptors::Descriptor DnnDescriptors::pointwise(cudnnPointwiseMode_t mode, Descriptor x,
                                                     Descriptor b, Descriptor y) {
  const Descriptor how = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  finalize(how);
  const Descriptor made = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  set(made, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != nullptr) set(made, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  set(made, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  finalize(made);
  return made;
}

DnnDescriptors::Descriptor DnnDescriptors::graph(std::span<const Descriptor> operations,
                                                 cudnnHandle_t handle) {
  const Descriptor made = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  set(made, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      static_cast<std::int64_t>(operations.size()), operations.data());
  finalize(made);
  return made;
}

bool DnnDescriptors::try_finalize(Descriptor descriptor) {
  return device_->table().cudnnBackendFinalize(descriptor) == CUDNN_STATUS_SUCCESS;
}

std::vector<DnnDescriptors::Descriptor> DnnDescriptors::children(
    Descriptor of, Name name, cudnnBackendDescriptorType_t type) {
  const Table& table = device_->table();
  std::int64_t count = 0;
  TOWERFLOW_CUDA(
      table, cudnnBackendGetAttribute(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<Descriptor> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(make(type));
  if (list.empty()) return list;
  TOWERFLOW_CUDA(table, cudnnBackendGetAttribute(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                                                 &count, list.data()));
  list.resize(static_cast<std::size_t>(count));
  return list;
}

template <class T>
T DnnDescriptors::get(Descriptor descriptor, Name name, cudnnBackendAttributeType_t type) {
  T value{};
  std::int64_t count = 0;
  TOWERFLOW_CUDA(device_->table(),
                 cudnnBackendGetAttribute(descriptor, name, type, 1, &count, &value));
  return value;
}

std::vector<DnnDescriptors::Descriptor> DnnDescriptors::proposals(Descriptor graph,
                                                                  cudnnBackendHeurMode_t mode) {
  const Descriptor heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!try_finalize(heuristics)) return {};
  return children(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
}

DnnDescriptors::Descriptor DnnDescriptors::engine_of(Descriptor configuration) {
  Descriptor engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::int64_t count = 0;
  TOWERFLOW_CUDA(device_->table(),
                 cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine));
  return engine;
}

EngineChoice DnnDescriptors::choice(Descriptor configuration) {
  EngineChoice made{.engine = get<std::int64_t>(engine_of(configuration),
                                                CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64)};
  for (const Descriptor knob : children(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                        CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)) {
    const auto type =
        get<cudnnBackendKnobType_t>(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE);
    made.knobs[type] = get<std::int64_t>(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64);
  }
  return made;
}

DnnDescriptors::Descriptor DnnDescriptors::configuration(Descriptor graph,
                                                         const EngineChoice& choice) {
  const Descriptor engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  set(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, choice.engine);
  if (!try_finalize(engine)) return nullptr;
  const Descriptor made = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  set(made, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  std::vector<Descriptor> knobs;
  for (const auto& [type, value] : choice.knobs) {
    const Descriptor knob = make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
        static_cast<cudnnBackendKnobType_t>(type));
    set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, value);
    if (!try_finalize(knob)) return nullptr;
    knobs.push_back(knob);
  }
  if (!knobs.empty()) {
    set(made, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        static_cast<std::int64_t>(knobs.size()), knobs.data());
  }
  return try_finalize(made) ? made : nullptr;
}

std::vector<cudnnBackendNumericalNote_t> DnnDescriptors::notes(Descriptor configuration) {
  const Descriptor engine = engine_of(configuration);
  std::int64_t count = 0;
  std::vector<cudnnBackendNumericalNote_t> list(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  TOWERFLOW_CUDA(
      device_->table(),
      cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               static_cast<std::int64_t>(list.size()), &count, list.data()));
  list.resize(static_cast<std::size_t>(count));
  return list;
}

DnnDescriptors::Descriptor DnnDescriptors::try_plan(Descriptor configuration,
                                                    cudnnHandle_t handle) {
  const Descriptor made = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set(made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  set(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  return try_finalize(made) ? made : nullptr;
}

std::int64_t DnnDescriptors::workspace_bytes(Descriptor plan) {
  return get<std::int64_t>(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
}

}  // namespace towerflow::cuda
