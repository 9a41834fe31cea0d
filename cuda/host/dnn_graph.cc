#include "cuda/host/dnn_graph.h"

#include <algorithm>
#include <map>

namespace towerflow::cuda::host {
namespace {

using Name = cudnnBackendAttributeName_t;

/// The names of the attributes of one kind of convolution.
struct ConvolutionNames {
  DnnNode::Kind kind;
  Name x, w, y, convolution, alpha, beta;
};

ConvolutionNames names_of(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {DnnNode::Kind::data_gradient,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {DnnNode::Kind::weight_gradient,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {DnnNode::Kind::forward,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

/// Returns whether two elements of a tensor share memory. A stride of 0, which repeats an element,
/// is no overlap for the library.
bool has_overlapping_strides(const DnnTensor& tensor) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, size
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] > 1 && tensor.strides[d] > 0) {
      steps.emplace_back(tensor.strides[d], tensor.dims[d]);
    }
  }
  std::sort(steps.begin(), steps.end());
  // The library wants each stride to be at least the smaller one times its size.
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].first < steps[i - 1].first * steps[i - 1].second) return true;
  }
  return false;
}

std::optional<DnnNode> read_convolution_operation(const DnnDescriptor& operation,
                                                  std::string& why) {
  const ConvolutionNames names = names_of(operation.type);
  const auto x = read_tensor(operation.child(names.x)), w = read_tensor(operation.child(names.w)),
             y = read_tensor(operation.child(names.y));
  const DnnDescriptorPtr descriptor = operation.child(names.convolution);
  if (!x || !w || !y || descriptor == nullptr) {
    why = "a tensor or the convolution is not set, or was not finalized when it was set";
    return std::nullopt;
  }
  DnnNode node;
  node.kind = names.kind;
  node.convolution = *read_convolution(*descriptor);
  why = check_shapes(node.convolution, x->dims, w->dims, y->dims);
  if (!why.empty()) return std::nullopt;
  if (w->bytes() != static_cast<std::size_t>(w->count()) * size_of(w->number)) {
    why = "the filter has gaps between its elements, or they overlap";
    return std::nullopt;
  }
  if (has_overlapping_strides(*x) || has_overlapping_strides(*y)) {
    why = "the strides of x or y let elements overlap";
    return std::nullopt;
  }
  node.alpha = operation.scale(names.alpha, 1);
  node.beta = operation.scale(names.beta, 0);
  switch (node.kind) {
    case DnnNode::Kind::data_gradient:
      node.inputs = {*y, *w};
      node.output = *x;
      break;
    case DnnNode::Kind::weight_gradient:
      node.inputs = {*x, *y};
      node.output = *w;
      break;
    default:
      node.inputs = {*x, *w};
      node.output = *y;
  }
  return node;
}

DnnPointwise read_pointwise(const DnnDescriptor& operation, const DnnDescriptor& d) {
  DnnPointwise p;
  p.mode = d.get(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
  p.lower = d.scale(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
  p.has_upper = d.has(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP);
  p.upper = d.scale(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 0);
  p.slope = d.scale(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
  p.elu_alpha = d.scale(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1);
  p.softplus_beta = d.scale(CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1);
  p.swish_beta = d.scale(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1);
  p.alpha1 = operation.scale(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
  p.alpha2 = operation.scale(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
  return p;
}

std::optional<DnnNode> read_pointwise_operation(const DnnDescriptor& operation, std::string& why) {
  const DnnDescriptorPtr descriptor = operation.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  if (descriptor == nullptr) {
    why = "the pointwise descriptor is not set, or was not finalized when it was set";
    return std::nullopt;
  }
  DnnNode node;
  node.pointwise = read_pointwise(operation, *descriptor);
  const DnnPointwiseInputs takes = inputs_of(node.pointwise.mode);
  std::vector<Name> names = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC};
  if (takes.backward) names.push_back(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC);
  if (takes.b) names.push_back(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  if (takes.t) names.push_back(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
  names.push_back(takes.backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC
                                 : CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  for (const Name name : names) {
    const auto tensor = read_tensor(operation.child(name));
    if (!tensor) {
      why = "a tensor that the mode needs is not set, or was not finalized when it was set";
      return std::nullopt;
    }
    node.inputs.push_back(*tensor);
  }
  node.output = node.inputs.back();
  node.inputs.pop_back();
  for (const DnnTensor& input : node.inputs) {
    if (input.dims.size() != node.output.dims.size()) {
      why = "the tensors have different ranks";
      return std::nullopt;
    }
  }
  return node;
}

bool same_tensor(const DnnTensor& a, const DnnTensor& b) {
  return a.number == b.number && a.dims == b.dims && a.strides == b.strides &&
         a.is_virtual == b.is_virtual && a.by_value == b.by_value;
}

/// Returns the operations in an order, or nothing if each of the rest needs another one first.
std::optional<DnnGraph> order(std::vector<DnnNode> nodes, std::string& why) {
  std::map<std::int64_t, bool> computed;  // by UID: tensors that an operation writes
  for (const DnnNode& node : nodes) computed[node.output.uid] = false;
  DnnGraph graph;
  while (!nodes.empty()) {
    const auto ready = std::find_if(nodes.begin(), nodes.end(), [&](const DnnNode& node) {
      return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const DnnTensor& input) {
        const auto found = computed.find(input.uid);
        return found == computed.end() || found->second || input.uid == node.output.uid;
      });
    });
    if (ready == nodes.end()) {
      why = "the operations need each other's results";
      return std::nullopt;
    }
    computed[ready->output.uid] = true;
    graph.nodes.push_back(std::move(*ready));
    nodes.erase(ready);
  }
  return graph;
}

std::vector<DnnTensor> unique(const std::vector<DnnTensor>& tensors) {
  std::vector<DnnTensor> result;
  for (const DnnTensor& tensor : tensors) {
    const bool seen = std::any_of(result.begin(), result.end(),
                                  [&](const DnnTensor& t) { return t.uid == tensor.uid; });
    if (!seen && !tensor.is_virtual) result.push_back(tensor);
  }
  return result;
}

}  // namespace

std::vector<DnnTensor> DnnGraph::inputs() const {
  std::vector<DnnTensor> all;
  std::vector<std::int64_t> written;
  for (const DnnNode& node : nodes) {
    for (const DnnTensor& input : node.inputs) {
      if (std::find(written.begin(), written.end(), input.uid) == written.end()) {
        all.push_back(input);
      }
    }
    if (node.beta != 0) all.push_back(node.output);
    written.push_back(node.output.uid);
  }
  return unique(all);
}

std::vector<DnnTensor> DnnGraph::outputs() const {
  std::vector<DnnTensor> all;
  for (const DnnNode& node : nodes) all.push_back(node.output);
  return unique(all);
}

bool DnnGraph::has_convolution() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const DnnNode& node) { return node.kind != DnnNode::Kind::pointwise; });
}

bool DnnGraph::has_dilated_convolution() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const DnnNode& node) {
    const auto& list = node.convolution.dilations;  // empty if the operation is none
    return std::any_of(list.begin(), list.end(), [](std::int64_t v) { return v > 1; });
  });
}

std::optional<DnnNode> read_operation(const DnnDescriptor& operation, std::string& why) {
  return operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR
             ? read_pointwise_operation(operation, why)
             : read_convolution_operation(operation, why);
}

std::optional<DnnGraph> build_graph(const std::vector<DnnDescriptorPtr>& operations,
                                    std::string& why) {
  std::vector<DnnNode> nodes;
  std::map<std::int64_t, DnnTensor> tensors;
  std::map<std::int64_t, int> writers;
  for (const DnnDescriptorPtr& operation : operations) {
    auto node = read_operation(*operation, why);
    if (!node) return std::nullopt;
    std::vector<DnnTensor> all = node->inputs;
    all.push_back(node->output);
    for (const DnnTensor& tensor : all) {
      const auto [known, is_new] = tensors.emplace(tensor.uid, tensor);
      // Input and output of one operation may share a UID; then they are the same memory.
      if (!is_new && !same_tensor(known->second, tensor) && operations.size() > 1) {
        why = "tensor " + std::to_string(tensor.uid) + " is described in two ways";
        return std::nullopt;
      }
    }
    if (++writers[node->output.uid] > 1) {
      why = "two operations write tensor " + std::to_string(node->output.uid);
      return std::nullopt;
    }
    nodes.push_back(std::move(*node));
  }
  if (nodes.empty()) {
    why = "there are no operations";
    return std::nullopt;
  }
  return order(std::move(nodes), why);
}

}  // namespace towerflow::cuda::host
