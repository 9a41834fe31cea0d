#include "cuda/host/call.h"
#include "cuda/host/copy_step.h"
#include "cuda/host/graph.h"
#include "cuda/host/launch_step.h"
#include "cuda/host/runtime.h"

namespace towerflow::cuda::host {
namespace {

/// Finds the step of an executable graph that a node of its graph became, if it is of the type
/// `Expected`, and replaces it by the one that `make` gives.
template <class Expected, class Make>
cudaError_t replace_step(cudaGraphExec_t handle, cudaGraphNode_t node_handle, Make make) {
  return call([&](State& state, Lock&) -> cudaError_t {
    const std::shared_ptr<Executable> executable = state.executables.find(handle);
    const auto node = state.nodes.find(node_handle);
    if (executable == nullptr || node == nullptr) return cudaErrorInvalidResourceHandle;
    const std::size_t number = node->second;
    if (number >= executable->nodes.size() || executable->nodes[number].handle != node_handle) {
      return cudaErrorInvalidValue;  // of another graph
    }
    Step& step = executable->nodes[number].step;
    if (!std::holds_alternative<Expected>(step)) return cudaErrorInvalidValue;
    Expected replacement;
    const cudaError_t status = make(state, replacement);
    if (status == cudaSuccess) step = replacement;
    return status;
  });
}

}  // namespace

cudaGraphNodeType type_of(const Step& step) {
  constexpr cudaGraphNodeType types[] = {cudaGraphNodeTypeKernel,     cudaGraphNodeTypeMemcpy,
                                         cudaGraphNodeTypeMemset,     cudaGraphNodeTypeHost,
                                         cudaGraphNodeTypeKernel,     cudaGraphNodeTypeWaitEvent,
                                         cudaGraphNodeTypeEventRecord};
  static_assert(std::variant_size_v<Step> == std::size(types));
  return types[step.index()];
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  return replace_step<KernelStep>(graph, node, [&](State& state, KernelStep& step) {
    if (params == nullptr || params->extra != nullptr) return cudaErrorInvalidValue;
    const Launch launch{
        .blocks = params->gridDim, .threads = params->blockDim, .shared = params->sharedMemBytes};
    return make_launch(state, params->func, launch, params->kernelParams, step);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t graph, cudaGraphNode_t node,
                                               void* to, const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind) {
  return replace_step<CopyStep>(graph, node, [&](State& state, CopyStep& step) {
    return make_copy(state.memory, to, from, bytes, kind, step);
  });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
  return replace_step<SetStep>(graph, node, [&](State& state, SetStep& step) {
    if (params == nullptr || params->height != 1) return cudaErrorInvalidValue;
    const unsigned unit = params->elementSize;
    if (unit != 1 && unit != 2 && unit != 4) return cudaErrorInvalidValue;
    return make_set(state.memory, params->dst, params->value, unit, params->width * unit, step);
  });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                           const cudaHostNodeParams* params) {
  return replace_step<HostStep>(graph, node, [&](State&, HostStep& step) {
    if (params == nullptr || params->fn == nullptr) return cudaErrorInvalidValue;
    step = {.function = params->fn, .data = params->userData};
    return cudaSuccess;
  });
}

}  // namespace towerflow::cuda::host
