// Which engines compute a graph. Their notes are those of a card (docs/cuda.md): in float32, what
// the heuristics propose first uses TF32, so that a program which takes it gets its results.
#include <algorithm>

#include "cuda/host/dnn_graph.h"

namespace towerflow::cuda::host {
namespace {

enum Index : std::int64_t { kSlow, kTensorCore, kFull, kNondeterministic, kFft, kDownConvert };
static_assert(kDownConvert + 1 == kDnnEngines);

constexpr std::size_t kFullWorkspace = 128 << 10, kFftWorkspace = 4 << 20;

bool is_convolution(const DnnNode& node) { return node.kind != DnnNode::Kind::pointwise; }

std::string check_types(const DnnNode& node) {
  const Number number = node.inputs[0].number, result = node.output.number;
  if (node.inputs[1].number != number) return "the factors of a convolution differ in type";
  const bool is_double = number == Number::f64;
  const bool is_float = number == Number::f32 || number == Number::f16 || number == Number::bf16;
  if (!is_double && !is_float) return "convolutions of integers are not emulated";
  if (node.convolution.compute != (is_double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT)) {
    return "no engine computes in this type";
  }
  return result == number || (is_float && result == Number::f32)
             ? ""
             : "no engine gives a result of this type";
}

/// What cuDNN fuses: pointwise operations behind one convolution, or on their own.
std::string check_pattern(const DnnGraph& graph) {
  std::vector<std::int64_t> written;
  int convolutions = 0;
  for (const DnnNode& node : graph.nodes) {
    for (const DnnTensor& input : node.inputs) {
      const bool is_written = std::find(written.begin(), written.end(), input.uid) != written.end();
      if (input.is_virtual && !is_written) return "nothing computes a virtual tensor";
      if (is_written && is_convolution(node)) return "a convolution takes a computed tensor";
    }
    if (is_convolution(node)) {
      if (++convolutions > 1) return "there are two convolutions";
      if (node.output.is_virtual && node.beta != 0) return "a virtual tensor has no earlier value";
      const std::string why = check_types(node);
      if (!why.empty()) return why;
    } else {
      if (!inputs_of(node.pointwise.mode).known) return "the pointwise mode is not emulated";
      for (const DnnTensor& input : node.inputs) {
        if (!broadcasts(input.dims, node.output.dims)) {
          return "tensor " + std::to_string(input.uid) + " has not the shape of the result";
        }
      }
    }
    written.push_back(node.output.uid);
  }
  return "";
}

std::string check_use(const DnnGraph& graph) {
  for (const DnnNode& node : graph.nodes) {
    const bool used =
        std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const DnnNode& other) {
          return std::any_of(other.inputs.begin(), other.inputs.end(),
                             [&](const DnnTensor& input) { return input.uid == node.output.uid; });
        });
    if (node.output.is_virtual && !used) return "nothing uses a virtual tensor";
    if (std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](const DnnTensor& input) { return input.uid == node.output.uid; })) {
      return "a result is the input of its own operation";
    }
    if (node.output.by_value) return "a result is passed by value";
  }
  return "";
}

bool suits_fft(const DnnNode& node) {
  const auto all_one = [](const std::vector<std::int64_t>& list) {
    return std::all_of(list.begin(), list.end(), [](std::int64_t v) { return v == 1; });
  };
  return all_one(node.convolution.strides) && all_one(node.convolution.dilations);
}

std::vector<DnnEngine> convolution_engines(const DnnGraph& graph) {
  const DnnNode& node = *std::find_if(graph.nodes.begin(), graph.nodes.end(), is_convolution);
  const Number number = node.inputs[0].number;
  const bool alone = graph.nodes.size() == 1;
  std::vector<DnnEngine> engines;
  if (number == Number::f32) {
    engines.push_back({kTensorCore, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}, 0});
    engines.push_back({kDownConvert,
                       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
                       {},
                       kFullWorkspace});
    if (alone && suits_fft(node)) {
      engines.push_back({kFft, {CUDNN_NUMERICAL_NOTE_FFT}, {}, kFftWorkspace});
    }
  } else if (number != Number::f64) {
    engines.push_back({kTensorCore, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}, 0});
  }
  if (node.kind != DnnNode::Kind::forward) {
    engines.push_back({kNondeterministic, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {}, 0});
  }
  for (const std::int64_t tile : {0, 1}) {  // smaller tiles need less memory
    engines.push_back({kFull, {}, {}, kFullWorkspace >> tile, {{CUDNN_KNOB_TYPE_TILE_SIZE, tile}}});
  }
  engines.push_back({kSlow, {}, {}, 0});
  return engines;
}

}  // namespace

bool DnnEngine::has(cudnnBackendNumericalNote_t note) const {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

std::vector<DnnEngine> engines_of(const DnnGraph& graph, std::string& why) {
  why = check_pattern(graph);
  if (why.empty()) why = check_use(graph);
  if (!why.empty()) return {};
  if (graph.has_convolution()) return convolution_engines(graph);
  return {{kFull, {}, {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION}, 0}};
}

}  // namespace towerflow::cuda::host
