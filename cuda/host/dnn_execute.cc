// cudnnBackendExecute: binds the tensors of a plan to memory and puts the graph into the stream.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "cuda/host/dnn_context.h"
#include "cuda/host/dnn_graph.h"
#include "cuda/host/libraries.h"

namespace towerflow::cuda::host {
namespace {

cudnnStatus_t bind(const DnnTensor& tensor, const std::vector<std::int64_t>& uids,
                   const std::vector<void*>& pointers, DnnBinding& binding) {
  const auto uid = std::find(uids.begin(), uids.end(), tensor.uid);
  if (uid == uids.end()) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM,
                     "the variant pack has no tensor " + std::to_string(tensor.uid));
  }
  binding.uid = tensor.uid;
  binding.at = pointers[static_cast<std::size_t>(uid - uids.begin())];
  if (binding.at == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                     "the pointer of tensor " + std::to_string(tensor.uid) + " is null");
  }
  if (tensor.by_value) {
    const auto* const value = static_cast<const std::byte*>(binding.at);
    binding.value.assign(value, value + tensor.bytes());
  } else if (reinterpret_cast<std::uintptr_t>(binding.at) %
                 static_cast<std::uintptr_t>(tensor.alignment) !=
             0) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                     "tensor " + std::to_string(tensor.uid) + " is not aligned to " +
                         std::to_string(tensor.alignment) + " bytes, as its descriptor says");
  }
  return CUDNN_STATUS_SUCCESS;
}

bool overlap(const DnnBinding& a, const DnnTensor& a_tensor, const DnnBinding& b,
             const DnnTensor& b_tensor) {
  const auto* const a_at = static_cast<const std::byte*>(a.at);
  const auto* const b_at = static_cast<const std::byte*>(b.at);
  return a_at < b_at + b_tensor.bytes() && b_at < a_at + a_tensor.bytes();
}

/// Returns whether an operation may write a result over this input: element by element only.
bool may_be_in_place(const DnnGraph& graph, const DnnTensor& input, const DnnTensor& output) {
  const bool same =
      input.number == output.number && input.dims == output.dims && input.strides == output.strides;
  return same && std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const DnnNode& node) {
           return node.kind != DnnNode::Kind::pointwise &&
                  std::any_of(node.inputs.begin(), node.inputs.end(),
                              [&](const DnnTensor& t) { return t.uid == input.uid; });
         });
}

}  // namespace

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                  cudnnBackendDescriptor_t pack_handle) {
  const auto context = find_context(handle);
  if (context == nullptr) {
    return dnn_error(CUDNN_STATUS_NOT_INITIALIZED, "the handle does not exist");
  }
  const auto plan = find_descriptor(plan_handle), pack = find_descriptor(pack_handle);
  if (plan == nullptr || pack == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                     "the plan or the variant pack does not exist");
  }
  if (plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM, "a descriptor is no plan or no variant pack");
  }
  if (!plan->finalized || !pack->finalized) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                     "the plan or the variant pack is not finalized");
  }
  const auto config = plan->child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const auto [graph, engine] = *find_engine(*config);  // exists, as the configuration is finalized
  const auto uids = pack->list<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack->list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const std::vector<DnnTensor> inputs = graph.inputs(), outputs = graph.outputs();
  std::vector<DnnBinding> bindings;
  Work work{"cudnnBackendExecute", {}, {}};
  for (const auto* tensors : {&inputs, &outputs}) {
    for (const DnnTensor& tensor : *tensors) {
      DnnBinding binding;
      const cudnnStatus_t status = bind(tensor, uids, pointers, binding);
      if (status != CUDNN_STATUS_SUCCESS) return status;
      if (!tensor.by_value) {
        append_operands(work.operands, binding.at, size_of(tensor.number), tensor.extents(),
                        tensors == &outputs);
      }
      bindings.push_back(std::move(binding));
    }
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const DnnBinding& output = bindings[inputs.size() + o];
      if (inputs[i].by_value || inputs[i].uid == outputs[o].uid ||
          !overlap(bindings[i], inputs[i], output, outputs[o])) {
        continue;
      }
      // A card reads elements after it has overwritten them, and reports nothing.
      if (bindings[i].at != output.at || !may_be_in_place(graph, inputs[i], outputs[o])) {
        return dnn_error(CUDNN_STATUS_BAD_PARAM, "result " + std::to_string(outputs[o].uid) +
                                                     " overlaps tensor " +
                                                     std::to_string(inputs[i].uid));
      }
    }
  }
  void* const workspace = pack->get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  if (engine.workspace != 0) {
    if (workspace == nullptr) {
      return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the plan needs a workspace");
    }
    work.operands.push_back({workspace, engine.workspace, true});
  }
  work.run = [graph = graph, engine = engine, bindings, workspace] {
    static std::atomic<unsigned> executions{0};
    return run_graph(graph, engine, bindings, workspace, executions++);
  };
  return enqueue(context->stream, std::move(work)) == cudaSuccess
             ? CUDNN_STATUS_SUCCESS
             : dnn_error(CUDNN_STATUS_EXECUTION_FAILED_CUDART,
                         "the work could not be put into the stream");
}

}  // namespace towerflow::cuda::host
