#include "tests/cuda/dnn_builder.h"

namespace towerflow::cuda::testing {
namespace {

using Name = cudnnBackendAttributeName_t;

struct Names {
  cudnnBackendDescriptorType_t type;
  Name x, w, y, convolution, alpha, beta;
};

const Names kNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

bool is_backward(cudnnPointwiseMode_t mode) {
  return mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
}

}  // namespace

Dims channels_first(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

Dims channels_last(const Dims& dims) {
  Dims strides(dims.size(), 1);
  std::int64_t step = dims[1];
  for (std::size_t d = dims.size() - 1; d > 1; --d) {
    strides[d] = step;
    step *= dims[d];
  }
  strides[0] = step;
  return strides;
}

DnnBuilder::~DnnBuilder() {
  for (const Descriptor descriptor : made_) table_.cudnnBackendDestroyDescriptor(descriptor);
}

void DnnBuilder::note(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS || status_ != CUDNN_STATUS_SUCCESS) return;
  status_ = status;
  char text[1024] = "";
  table_.cudnnGetLastErrorString(text, sizeof(text));
  text_ = text;
}

DnnBuilder::Descriptor DnnBuilder::make(cudnnBackendDescriptorType_t type) {
  Descriptor descriptor = nullptr;
  note(table_.cudnnBackendCreateDescriptor(type, &descriptor));
  if (descriptor != nullptr) made_.push_back(descriptor);
  return descriptor;
}

void DnnBuilder::set(Descriptor descriptor, Name name, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* values) {
  note(table_.cudnnBackendSetAttribute(descriptor, name, type, count, values));
}

void DnnBuilder::set(Descriptor descriptor, Name name, const Dims& values) {
  if (values.empty()) return;
  set(descriptor, name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void DnnBuilder::set_child(Descriptor descriptor, Name name, Descriptor child) {
  if (child != nullptr) set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, child);
}

void DnnBuilder::finalize(Descriptor descriptor) { note(table_.cudnnBackendFinalize(descriptor)); }

DnnBuilder::Descriptor DnnBuilder::tensor(const TensorSpec& spec) {
  const Descriptor made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, spec.type);
  set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, spec.dims);
  set(made, CUDNN_ATTR_TENSOR_STRIDES, spec.strides);
  set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, spec.uid);
  set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, spec.alignment);
  set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, spec.is_virtual);
  if (spec.by_value) set(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  finalize(made);
  return made;
}

DnnBuilder::Descriptor DnnBuilder::convolution(const ConvolutionSpec& spec) {
  const Descriptor made = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, spec.spatial);
  set(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, spec.compute);
  set(made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, spec.mode);
  set(made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spec.pre);
  set(made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spec.post);
  set(made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spec.strides);
  set(made, CUDNN_ATTR_CONVOLUTION_DILATIONS, spec.dilations);
  finalize(made);
  return made;
}

DnnBuilder::Descriptor DnnBuilder::operation(Kind kind, Descriptor x, Descriptor w, Descriptor y,
                                             Descriptor convolution, float alpha, float beta) {
  const Names& names = kNames[static_cast<int>(kind)];
  const Descriptor made = make(names.type);
  set_child(made, names.x, x);
  set_child(made, names.w, w);
  set_child(made, names.y, y);
  set_child(made, names.convolution, convolution);
  set(made, names.alpha, CUDNN_TYPE_FLOAT, alpha);
  set(made, names.beta, CUDNN_TYPE_FLOAT, beta);
  finalize(made);
  return made;
}

DnnBuilder::Descriptor DnnBuilder::pointwise(cudnnPointwiseMode_t mode) {
  const Descriptor made = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  finalize_pointwise(made, mode);
  return made;
}

void DnnBuilder::finalize_pointwise(Descriptor descriptor, cudnnPointwiseMode_t mode) {
  set(descriptor, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  set(descriptor, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  finalize(descriptor);
  modes_[descriptor] = mode;
}

DnnBuilder::Descriptor DnnBuilder::pointwise_operation(Descriptor pointwise, Descriptor x,
                                                       Descriptor b, Descriptor y, Descriptor t,
                                                       float alpha1, float alpha2) {
  const bool backward = is_backward(modes_.at(pointwise));
  const Descriptor made = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set_child(made, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
  set_child(made, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  set_child(made,
            backward ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC : CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
            b);
  set_child(made,
            backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
            y);
  set_child(made, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
  if (alpha1 != 1) set(made, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, alpha1);
  if (alpha2 != 1) set(made, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, alpha2);
  finalize(made);
  return made;
}

DnnBuilder::Descriptor DnnBuilder::graph(const std::vector<Descriptor>& operations) {
  const Descriptor made = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (!operations.empty()) {
    set(made, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        static_cast<std::int64_t>(operations.size()), operations.data());
  }
  finalize(made);
  return made;
}

std::vector<DnnBuilder::Descriptor> DnnBuilder::configs(Descriptor graph,
                                                        cudnnBackendHeurMode_t mode) {
  const Descriptor heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set_child(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  finalize(heuristics);
  std::int64_t count = 0;
  note(table_.cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<Descriptor> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  if (count > 0) {
    note(table_.cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                         list.data()));
  }
  return list;
}

std::vector<cudnnBackendNumericalNote_t> DnnBuilder::notes(Descriptor config) {
  Descriptor engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::int64_t count = 0;
  note(table_.cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine));
  std::vector<cudnnBackendNumericalNote_t> list(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  note(table_.cudnnBackendGetAttribute(
      engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
      static_cast<std::int64_t>(list.size()), &count, list.data()));
  list.resize(static_cast<std::size_t>(count));
  return list;
}

DnnBuilder::Descriptor DnnBuilder::plan(Descriptor config) {
  const Descriptor made = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set_child(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  finalize(made);
  return made;
}

std::int64_t DnnBuilder::workspace(Descriptor plan) {
  std::int64_t bytes = -1, count = 0;
  note(table_.cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                       CUDNN_TYPE_INT64, 1, &count, &bytes));
  return bytes;
}

DnnBuilder::Descriptor DnnBuilder::pack(const Dims& uids, const std::vector<void*>& pointers,
                                        void* workspace) {
  const Descriptor made = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(made, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids);
  set(made, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
      static_cast<std::int64_t>(pointers.size()), pointers.data());
  set(made, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  finalize(made);
  return made;
}

}  // namespace towerflow::cuda::testing
