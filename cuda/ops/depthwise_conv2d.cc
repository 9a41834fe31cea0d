// Depthwise convolutions of images of channels last, and their gradients.
#include <algorithm>

#include "cuda/ops/reduction.h"
#include "ops/nn/conv2d_attrs.h"

namespace towerflow::cuda {
namespace {

/// A depthwise convolution and how its kernels are launched.
struct Depthwise {
  Depthwise(const KernelRequest& request, const Shape& images, const Shape& filter)
      : geometry(nn::conv_geometry(request.attributes<nn::Conv2DAttrs>(), images, filter,
                                   nn::ConvKind::depthwise)) {
    const ConvGeometry& g = geometry;
    const auto axis = [](const WindowAxis& a) {
      check_32_bits(a.input, "a depthwise convolution");
      return device::DepthwiseShape::Axis{.input = static_cast<int>(a.input),
                                          .filter = static_cast<int>(a.window),
                                          .stride = static_cast<int>(a.stride),
                                          .dilation = static_cast<int>(a.dilation),
                                          .output = static_cast<int>(a.output),
                                          .pad_before = static_cast<int>(a.pad_before)};
    };
    check_32_bits(g.batch, "a depthwise convolution");
    check_32_bits(g.out_channels, "a depthwise convolution");
    shape.batch = static_cast<int>(g.batch);
    shape.channels = static_cast<int>(g.in_channels);
    shape.multiplier = static_cast<int>(filter.size(3));
    shape.rows = axis(g.rows);
    shape.columns = axis(g.columns);
  }
  std::int64_t results() const { return geometry.batch * geometry.result_elements(); }
  std::int64_t images() const { return geometry.batch * geometry.image_elements(); }
  std::int64_t places() const { return geometry.rows.window * geometry.columns.window; }

  ConvGeometry geometry;
  device::DepthwiseShape shape;
};

std::unique_ptr<PreparedKernel> prepare_depthwise(Device& device, const KernelRequest& request) {
  const Depthwise d(request, request.inputs[0].shape, request.inputs[1].shape);
  const cudaKernel_t kernel = device.kernel(kernel_name("DepthwiseConv", request.outputs[0].dtype));
  return make_kernel([kernel, d](CudaQueue& queue, const LaunchArgs& args) {
    if (d.results() == 0) return;
    launch(queue, kernel, blocks_for(queue.device(), d.results()), args.inputs[0], args.inputs[1],
           args.outputs[0], d.shape);
  });
}

/// Of the images' sizes, the filter and dy.
std::unique_ptr<PreparedKernel> prepare_depthwise_input_grad(Device& device,
                                                             const KernelRequest& request) {
  const Depthwise d(request, request.outputs[0].shape, request.inputs[1].shape);
  const cudaKernel_t kernel =
      device.kernel(kernel_name("DepthwiseConvGradInput", request.outputs[0].dtype));
  return make_kernel([kernel, d](CudaQueue& queue, const LaunchArgs& args) {
    if (d.images() == 0) return;
    launch(queue, kernel, blocks_for(queue.device(), d.images()), args.inputs[2], args.inputs[1],
           args.outputs[0], d.shape);
  });
}

/// Of the images, the filter's sizes and dy. Parts of the pixels are added up apart, in the
/// workspace, and joined in their order.
std::unique_ptr<PreparedKernel> prepare_depthwise_filter_grad(Device& device,
                                                              const KernelRequest& request) {
  const TensorDesc& df = request.outputs[0];
  const Depthwise d(request, request.inputs[0].shape, df.shape);
  const cudaKernel_t kernel = device.kernel(kernel_name("DepthwiseConvGradFilter", df.dtype));
  const std::int64_t channels = d.geometry.out_channels;
  const std::int64_t tiles = (channels + kBlockThreads - 1) / kBlockThreads;
  const std::int64_t pixels = d.geometry.batch * d.geometry.rows.output * d.geometry.columns.output;
  constexpr std::int64_t kLeast = 256, kMost = 128;  // pixels of a part; parts
  const std::int64_t wanted =
      2 * device.properties().multiProcessorCount / std::max<std::int64_t>(tiles * d.places(), 1);
  const std::int64_t parts = std::clamp<std::int64_t>(std::min(wanted, pixels / kLeast), 1, kMost);
  const std::int64_t elements = df.shape.elements();
  const CudaReduction join(
      device,
      {.op = "Sum", .dtype = df.dtype, .shape = Shape{parts, elements}, .reduced = {true, false}});
  const dim3 blocks(static_cast<unsigned>(tiles), static_cast<unsigned>(d.places()),
                    static_cast<unsigned>(parts));
  const std::size_t bytes = rounded_to_pack(static_cast<std::size_t>(parts) * df.bytes());
  return make_kernel(
      [kernel, d, join, blocks, bytes, parts, elements](CudaQueue& queue, const LaunchArgs& args) {
        if (elements == 0) return;
        if (parts == 1) {
          return launch(queue, kernel, blocks, args.inputs[0], args.inputs[2], args.outputs[0],
                        d.shape);
        }
        launch(queue, kernel, blocks, args.inputs[0], args.inputs[2], args.workspace, d.shape);
        join.run(queue, args.workspace, args.outputs[0], args.workspace + bytes);
      },
      {.workspace = bytes + join.workspace_bytes()});
}

/// Returns a predicate: operand `input` has one of these dtypes, and channels come last.
std::function<bool(const KernelRequest&)> takes_channels_last(std::initializer_list<DType> dtypes,
                                                              std::size_t input = 0) {
  return [is_one = takes(dtypes, input)](const KernelRequest& request) {
    return is_one(request) && request.attributes<nn::Conv2DAttrs>().format == nn::DataFormat::nhwc;
  };
}

}  // namespace

void add_depthwise_conv2d_kernels(CudaEntries& entries) {
  const auto floats = {DType::float32, DType::float64};
  entries.push_back(
      {"DepthwiseConv2dNative", "cuda", takes_channels_last(floats), prepare_depthwise});
  entries.push_back({"DepthwiseConv2dNativeBackpropInput", "cuda", takes_channels_last(floats, 1),
                     prepare_depthwise_input_grad});
  entries.push_back({"DepthwiseConv2dNativeBackpropFilter", "cuda", takes_channels_last(floats),
                     prepare_depthwise_filter_grad});
}

}  // namespace towerflow::cuda
