#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/host/dnn_convolution.h"
#include "cuda/host/dnn_descriptor.h"
#include "cuda/host/dnn_pointwise.h"
#include "cuda/host/dnn_tensor.h"

namespace towerflow::cuda::host {

/// One operation of a graph.
struct DnnNode {
  enum class Kind { forward, data_gradient, weight_gradient, pointwise };
  Kind kind = Kind::pointwise;
  DnnConvolution convolution;
  double alpha = 1, beta = 0;  ///< of a convolution
  DnnPointwise pointwise;
  /// Convolutions: the image or the gradient of the result first, then the filter or the image.
  /// Pointwise: x, then b or dy, then t.
  std::vector<DnnTensor> inputs;
  DnnTensor output;
};

/// Operations in an order in which each finds its inputs computed.
struct DnnGraph {
  std::vector<DnnNode> nodes;

  /// All tensors that a caller has to give memory for, each once.
  std::vector<DnnTensor> inputs() const, outputs() const;
  bool has_convolution() const;
  bool has_dilated_convolution() const;
};

/// Returns a node for the descriptor of an operation, or why there is none.
std::optional<DnnNode> read_operation(const DnnDescriptor& operation, std::string& why);

/// Orders operations. Fails if two write one tensor, if descriptions of a tensor differ, or if
/// there is no order.
std::optional<DnnGraph> build_graph(const std::vector<DnnDescriptorPtr>& operations,
                                    std::string& why);

/// A way to compute a graph, by its global index and the values of its knobs.
struct DnnEngine {
  std::int64_t index = 0;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  std::size_t workspace = 0;
  std::map<cudnnBackendKnobType_t, std::int64_t> knobs{};

  bool has(cudnnBackendNumericalNote_t note) const;
};

/// Engine indices are less than this.
inline constexpr std::int64_t kDnnEngines = 6;

/// Returns the engines that compute a graph, as the heuristics propose them, the first first; one
/// with knobs is there for each of their values, its default first. None if the pattern, a type or
/// a shape is not supported, and then `why` tells.
std::vector<DnnEngine> engines_of(const DnnGraph& graph, std::string& why);

/// Returns the graph and the engine of a configuration whose engine is finalized; nothing if the
/// engine does not have such knobs.
std::optional<std::pair<DnnGraph, DnnEngine>> find_engine(const DnnDescriptor& configuration);

/// Memory of one execution: where each tensor of the graph lies, by its UID.
struct DnnBinding {
  std::int64_t uid = 0;
  void* at = nullptr;
  std::vector<std::byte> value;  ///< of a tensor that is passed by value
};

/// Computes on the thread of the stream. `number` counts the executions of a plan: what engines
/// that are not deterministic give depends on it.
cudaError_t run_graph(const DnnGraph& graph, const DnnEngine& engine,
                      std::span<const DnnBinding> bindings, void* workspace, unsigned number);

}  // namespace towerflow::cuda::host
