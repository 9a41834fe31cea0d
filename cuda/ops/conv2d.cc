// Convolutions and their gradients by cuDNN. Filters are [R,S,C,K] here and [K,R,S,C] or [K,C,R,S]
// there, so they are transposed before or after it.
#include "cuda/backend/dnn_convolution.h"
#include "cuda/ops/operands.h"
#include "ops/nn/conv2d_attrs.h"

namespace towerflow::cuda {
namespace {

using Kind = DnnConvolutionSpec::Kind;

/// Copies filters between both layouts.
class FilterTransposition {
 public:
  FilterTransposition(Device& device, const ConvGeometry& g, DType dtype)
      : elements_(g.filter_elements()),
        bytes_(static_cast<std::size_t>(elements_) * dtype_size(dtype)),
        load_(device.kernel(copy_kernel_name("StridedCopy", dtype))),
        store_(device.kernel(copy_kernel_name("StridedStore", dtype))) {
    const std::int64_t r = g.rows.window, s = g.columns.window, c = g.in_channels / g.groups;
    const std::int64_t k = g.out_channels;
    View<1> view;  // the positions of cuDNN's filter in ours
    view.add(k, {1});
    if (g.channels_first) view.add(c, {k});
    view.add(r, {s * c * k});
    view.add(s, {c * k});
    if (!g.channels_first) view.add(c, {k});
    positions_ = view.strided("a convolution");
  }
  std::size_t bytes() const { return rounded_to_pack(bytes_); }
  void to_dnn(CudaQueue& queue, const void* filter, void* made) const {
    launch(queue, load_, blocks_for(queue.device(), elements_), filter, made, elements_,
           positions_);
  }
  void from_dnn(CudaQueue& queue, const void* made, void* filter) const {
    launch(queue, store_, blocks_for(queue.device(), elements_), made, filter, elements_,
           positions_);
  }

 private:
  std::int64_t elements_;
  std::size_t bytes_;
  cudaKernel_t load_, store_;
  device::Strided<1> positions_;
};

/// The convolution, and the transposition of its filter, which is kept in the workspace.
struct PreparedConvolution {
  PreparedConvolution(Device& device, const DnnConvolutionSpec& spec)
      : dnn(device, spec), filter(device, spec.geometry, spec.dtype) {}
  std::size_t workspace() const { return filter.bytes() + dnn.workspace_bytes(); }

  DnnConvolution dnn;
  FilterTransposition filter;
};

/// Makes the kernel of a convolution whose images, filter and results are these shapes; `in` are
/// the inputs with x or y and with the filter, where they are inputs.
std::unique_ptr<PreparedKernel> prepare(Device& device, const KernelRequest& request,
                                        const DnnConvolutionSpec& spec) {
  if (request.outputs[0].shape.elements() == 0 || spec.geometry.batch == 0) {
    return make_kernel(
        [bytes = request.outputs[0].bytes()](CudaQueue& queue, const LaunchArgs& args) {
          if (bytes > 0) queue.fill_with_zeros(args.outputs[0], bytes);
        });
  }
  const auto made = std::make_shared<const PreparedConvolution>(device, spec);
  const KernelTraits traits{.workspace = made->workspace()};
  switch (spec.kind) {
    case Kind::data_gradient:  // of input_sizes, filter, dy
      return make_kernel(
          [made](CudaQueue& queue, const LaunchArgs& args) {
            made->filter.to_dnn(queue, args.inputs[1], args.workspace);
            made->dnn.run(queue, args.outputs[0], args.workspace, args.inputs[2], nullptr,
                          args.workspace + made->filter.bytes());
          },
          traits);
    case Kind::weight_gradient:  // of x, filter_sizes, dy
      return make_kernel(
          [made](CudaQueue& queue, const LaunchArgs& args) {
            made->dnn.run(queue, args.inputs[0], args.workspace, args.inputs[2], nullptr,
                          args.workspace + made->filter.bytes());
            made->filter.from_dnn(queue, args.workspace, args.outputs[0]);
          },
          traits);
    case Kind::forward:
      break;
  }
  return make_kernel(
      [made, bias = spec.bias](CudaQueue& queue, const LaunchArgs& args) {
        made->filter.to_dnn(queue, args.inputs[1], args.workspace);
        made->dnn.run(queue, args.inputs[0], args.workspace, args.outputs[0],
                      bias ? args.inputs[2] : nullptr, args.workspace + made->filter.bytes());
      },
      traits);
}

DnnConvolutionSpec spec_of(const KernelRequest& request, const nn::Conv2DAttrs& attrs, Kind kind,
                           const Shape& images, const Shape& filter) {
  return {.kind = kind,
          .geometry = nn::conv_geometry(attrs, images, filter),
          .dtype = request.outputs[0].dtype,
          .winograd = request.winograd};
}

std::unique_ptr<PreparedKernel> prepare_forward(Device& device, const KernelRequest& request) {
  return prepare(device, request,
                 spec_of(request, request.attributes<nn::Conv2DAttrs>(), Kind::forward,
                         request.inputs[0].shape, request.inputs[1].shape));
}

std::unique_ptr<PreparedKernel> prepare_fused(Device& device, const KernelRequest& request) {
  const auto& attrs = request.attributes<nn::FusedConv2DAttrs>();
  DnnConvolutionSpec spec =
      spec_of(request, attrs.conv, Kind::forward, request.inputs[0].shape, request.inputs[1].shape);
  spec.bias = true;
  spec.relu = attrs.relu;
  return prepare(device, request, spec);
}

std::unique_ptr<PreparedKernel> prepare_input_grad(Device& device, const KernelRequest& request) {
  return prepare(device, request,
                 spec_of(request, request.attributes<nn::Conv2DAttrs>(), Kind::data_gradient,
                         request.outputs[0].shape, request.inputs[1].shape));
}

std::unique_ptr<PreparedKernel> prepare_filter_grad(Device& device, const KernelRequest& request) {
  return prepare(device, request,
                 spec_of(request, request.attributes<nn::Conv2DAttrs>(), Kind::weight_gradient,
                         request.inputs[0].shape, request.outputs[0].shape));
}

}  // namespace

void add_conv2d_kernels(CudaEntries& entries) {
  const auto floats = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
  entries.push_back({"Conv2D", "cuDNN", takes(floats), prepare_forward});
  entries.push_back({"_FusedConv2D", "cuDNN", takes({DType::float32}), prepare_fused});
  entries.push_back({"Conv2DBackpropInput", "cuDNN", takes(floats, 1), prepare_input_grad});
  entries.push_back({"Conv2DBackpropFilter", "cuDNN", takes(floats), prepare_filter_grad});
}

}  // namespace towerflow::cuda
