// Executes the operations of a graph, one after the other, on arrays of doubles.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>

#include "cuda/host/dnn_graph.h"

namespace towerflow::cuda::host {
namespace {

bool allows_tf32() {
  const char* const value = std::getenv("NVIDIA_TF32_OVERRIDE");
  return value == nullptr || std::string_view(value) != "0";
}

/// Rounds the factors of a convolution to what the engine multiplies.
void round_factor(const DnnEngine& engine, const DnnTensor& tensor, DnnArray& factor) {
  if (tensor.number != Number::f32) return;
  if (engine.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) {
    round_as(Number::f16, static_cast<std::int64_t>(factor.values.size()), factor.values.data());
  } else if (engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) && allows_tf32()) {
    std::transform(factor.values.begin(), factor.values.end(), factor.values.begin(),
                   round_to_tf32);
  }
}

/// Moves some values by their last bit, other ones each time: so do sums in another order.
void disturb(Number number, DnnArray& array, unsigned execution) {
  const double bit = number == Number::f64
                         ? std::numeric_limits<double>::epsilon()
                         : static_cast<double>(std::numeric_limits<float>::epsilon());
  const std::size_t step = 3 + execution % 5;
  for (std::size_t i = execution % step; i < array.values.size(); i += step) {
    array.values[i] *= 1 + bit;
  }
}

class Execution {
 public:
  Execution(const DnnEngine& engine, std::span<const DnnBinding> bindings, unsigned number)
      : engine_(engine), bindings_(bindings), number_(number) {}

  void run(const DnnNode& node) {
    DnnArray result(node.output.dims);
    if (node.kind == DnnNode::Kind::pointwise) {
      const DnnPointwiseInputs takes = inputs_of(node.pointwise.mode);
      const DnnArray* const x = &input(node.inputs[0]);
      const DnnArray* const b = takes.b || takes.backward ? &input(node.inputs[1]) : nullptr;
      const DnnArray* const t = takes.t ? &input(node.inputs[2]) : nullptr;
      compute(node.pointwise, x, b, t, result);
    } else {
      run_convolution(node, result);
    }
    // A virtual tensor has a type too, in which others find it.
    round_as(node.output.number, static_cast<std::int64_t>(result.values.size()),
             result.values.data());
    if (!node.output.is_virtual) store(node.output, address(node.output.uid), result);
    arrays_[node.output.uid] = std::move(result);
  }

 private:
  void run_convolution(const DnnNode& node, DnnArray& result) {
    DnnArray first = input(node.inputs[0]), second = input(node.inputs[1]);
    round_factor(engine_, node.inputs[0], first);
    round_factor(engine_, node.inputs[1], second);
    switch (node.kind) {
      case DnnNode::Kind::data_gradient:
        convolve_data_gradient(node.convolution, first, second, result);
        break;
      case DnnNode::Kind::weight_gradient:
        convolve_weight_gradient(node.convolution, first, second, result);
        break;
      default:
        convolve(node.convolution, first, second, result);
    }
    if (engine_.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
      disturb(node.output.number, result, number_);
    if (node.alpha != 1) {
      for (double& value : result.values) value *= node.alpha;
    }
    if (node.beta != 0) {
      const DnnArray earlier = load(node.output, address(node.output.uid));
      for (std::size_t i = 0; i < result.values.size(); ++i) {
        result.values[i] += node.beta * earlier.values[i];
      }
    }
  }

  /// The value of a tensor: computed here, or read from memory once.
  const DnnArray& input(const DnnTensor& tensor) {
    const auto found = arrays_.find(tensor.uid);
    if (found != arrays_.end()) return found->second;
    return arrays_[tensor.uid] = load(tensor, address(tensor.uid));
  }

  std::byte* address(std::int64_t uid) {
    const auto found = std::find_if(bindings_.begin(), bindings_.end(),
                                    [uid](const DnnBinding& b) { return b.uid == uid; });
    if (!found->value.empty()) return const_cast<std::byte*>(found->value.data());
    return static_cast<std::byte*>(host_address(found->at));
  }

  const DnnEngine& engine_;
  const std::span<const DnnBinding> bindings_;
  const unsigned number_;
  std::map<std::int64_t, DnnArray> arrays_;
};

}  // namespace

cudaError_t run_graph(const DnnGraph& graph, const DnnEngine& engine,
                      std::span<const DnnBinding> bindings, void* workspace, unsigned number) {
  std::vector<DnnTensor> tensors = graph.inputs();
  const std::vector<DnnTensor> outputs = graph.outputs();
  tensors.insert(tensors.end(), outputs.begin(), outputs.end());
  for (const DnnTensor& tensor : tensors) {
    const auto found = std::find_if(bindings.begin(), bindings.end(),
                                    [&](const DnnBinding& b) { return b.uid == tensor.uid; });
    if (!found->value.empty()) continue;
    const cudaError_t status = check_access(found->at, tensor.bytes(), size_of(tensor.number));
    if (status != cudaSuccess) return status;
  }
  if (engine.workspace != 0) {
    const cudaError_t status = check_access(workspace, engine.workspace, 16);
    if (status != cudaSuccess) return status;
    // Whoever keeps data in a workspace finds it destroyed.
    std::memset(host_address(workspace), 0xFF, engine.workspace);
  }
  Execution execution(engine, bindings, number);
  for (const DnnNode& node : graph.nodes) execution.run(node);
  return cudaSuccess;
}

}  // namespace towerflow::cuda::host
