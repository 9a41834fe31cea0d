#include "cuda/backend/dnn_convolution.h"

namespace towerflow::cuda {
namespace {

using Dims = DnnDescriptors::Dims;
using Descriptor = cudnnBackendDescriptor_t;
using Kind = DnnConvolutionSpec::Kind;

/// Returns the strides of [batch, channels, rows, columns] in memory.
Dims strides_of(const Dims& sizes, bool channels_first) {
  const auto [n, c, h, w] = sizes;
  return channels_first ? Dims{c * h * w, h * w, w, 1} : Dims{c * h * w, 1, c * w, c};
}

struct OperationNames {
  cudnnBackendDescriptorType_t type;
  DnnDescriptors::Name x, w, y, convolution, alpha, beta;
};

OperationNames names_of(Kind kind) {
  switch (kind) {
    case Kind::data_gradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Kind::weight_gradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    case Kind::forward:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

Descriptor window(DnnDescriptors& made, const DnnConvolutionSpec& spec) {
  const WindowAxis &rows = spec.geometry.rows, &columns = spec.geometry.columns;
  constexpr std::int64_t kSpatial = 2;
  const auto pair = [](std::int64_t a, std::int64_t b) {
    return std::array<std::int64_t, 2>{a, b};
  };
  const Descriptor how = made.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, kSpatial);
  made.set(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           dnn_compute_type(spec.dtype));
  made.set(how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           CUDNN_CROSS_CORRELATION);
  made.set(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pair(rows.pad_before, columns.pad_before));
  made.set(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, pair(rows.pad_after, columns.pad_after));
  made.set(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, pair(rows.stride, columns.stride));
  made.set(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, pair(rows.dilation, columns.dilation));
  made.finalize(how);
  return how;
}

/// Returns the operations of the graph: the convolution, then bias and relu.
std::vector<Descriptor> operations(DnnDescriptors& made, const DnnConvolutionSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const Dims x{g.batch, g.in_channels, g.rows.input, g.columns.input};
  const Dims w{g.out_channels, g.in_channels / g.groups, g.rows.window, g.columns.window};
  const Dims y{g.batch, g.out_channels, g.rows.output, g.columns.output};
  const auto tensor = [&](DnnUid uid, const Dims& sizes, bool is_virtual = false) {
    return made.tensor(uid, spec.dtype, sizes, strides_of(sizes, g.channels_first), is_virtual);
  };
  const Descriptor result = tensor(kY, y);
  const Descriptor convolved = spec.bias || spec.relu ? tensor(kConvolved, y, true) : result;
  const OperationNames names = names_of(spec.kind);
  const Descriptor operation = made.make(names.type);
  made.set(operation, names.x, tensor(kX, x));
  made.set(operation, names.w, tensor(kW, w));
  made.set(operation, names.y, convolved);
  made.set(operation, names.convolution, window(made, spec));
  const float one = 1, zero = 0;
  const double one_64 = 1, zero_64 = 0;
  const bool doubles = spec.dtype == DType::float64;
  const auto scale_type = doubles ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  made.set(operation, names.alpha, scale_type, 1,
           doubles ? static_cast<const void*>(&one_64) : &one);
  made.set(operation, names.beta, scale_type, 1,
           doubles ? static_cast<const void*>(&zero_64) : &zero);
  made.finalize(operation);
  std::vector<Descriptor> all{operation};
  Descriptor last = convolved;
  if (spec.bias) {
    const Descriptor sum = spec.relu ? tensor(kSum, y, true) : result;
    const Descriptor bias = tensor(kBias, {1, g.out_channels, 1, 1});
    all.push_back(made.pointwise(CUDNN_POINTWISE_ADD, last, bias, sum));
    last = sum;
  }
  if (spec.relu) {
    all.push_back(made.pointwise(CUDNN_POINTWISE_RELU_FWD, last, nullptr, result));
  }
  return all;
}

}  // namespace

DnnConvolution::DnnConvolution(Device& device, const DnnConvolutionSpec& spec) : made_(device) {
  const std::lock_guard planning(device.planning());
  const cudnnHandle_t handle = device.dnn();  // before any descriptor: it opens cuDNN
  const std::vector<Descriptor> all = operations(made_, spec);
  plan_ = choose_plan(device, made_, spec, made_.graph(all, handle));
}

DnnConvolution::~DnnConvolution() = default;

void DnnConvolution::run(CudaQueue& queue, const void* x, const void* w, const void* y,
                         const void* bias, std::byte* workspace) const {
  plan_.execute(queue.device(), queue.dnn(), {x, w, y, bias}, workspace);
}

}  // namespace towerflow::cuda
