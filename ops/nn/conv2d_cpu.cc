#include <algorithm>

#include "core/device/cpu/launch.h"
#include "ops/family.h"
#include "ops/nn/conv2d_shape.h"
#include "ops/nn/kernels.h"
#include "ops/onednn/conv.h"
#include "ops/reference/conv.h"
#include "ops/simd/kernels.h"

namespace towerflow::nn {
namespace {

enum class Part { forward, input, filter };

// The images, the filter and the result are inputs or output 0 of each of the three ops.
ConvGeometry conv_geometry_of(ConvKind kind, Part part, const KernelRequest& request) {
  const auto& attrs = request.attributes<Conv2DAttrs>();
  const Shape& made = request.outputs[0].shape;
  switch (part) {
    case Part::forward:
      return conv_geometry(attrs, request.inputs[0].shape, request.inputs[1].shape, kind);
    case Part::input:
      return conv_geometry(attrs, made, request.inputs[1].shape, kind);
    case Part::filter:
      break;
  }
  return conv_geometry(attrs, request.inputs[0].shape, made, kind);
}

// Returns a kernel for the op. In the gradient ops, `kernel` gets all inputs but the vector of
// sizes.
template <Part kPart>
std::unique_ptr<PreparedKernel> conv_kernel(std::unique_ptr<CpuKernel> kernel) {
  if constexpr (kPart == Part::forward) return sliced_kernel(std::move(kernel));
  using Picked = std::initializer_list<std::size_t>;
  constexpr std::size_t kFirst = kPart == Part::input ? 1 : 0;
  return sliced_kernel(std::make_unique<PickedInputs>(std::move(kernel), Picked{kFirst, 2}));
}

template <ConvKind kKind, Part kPart>
std::unique_ptr<PreparedKernel> onednn_kernel(const KernelRequest& request) {
  const ConvGeometry geometry = conv_geometry_of(kKind, kPart, request);
  if constexpr (kPart == Part::forward)
    return conv_kernel<kPart>(onednn::make_conv2d(geometry));
  else if constexpr (kPart == Part::input)
    return conv_kernel<kPart>(onednn::make_conv2d_backprop_input(geometry));
  else
    return conv_kernel<kPart>(onednn::make_conv2d_backprop_filter(geometry));
}

bool winograd_takes(const KernelRequest& request, const ConvGeometry& geometry) {
  // With few results, or very many channels, transforming the filter costs more than Winograd
  // saves. Measured on two cores with images of 7 x 7 to 56 x 56.
  constexpr std::int64_t kMinResults = 512, kMaxChannelPairs = 256 * 256;
  return request.winograd && simd::winograd_takes(geometry) &&
         geometry.in_channels * geometry.out_channels <= kMaxChannelPairs &&
         geometry.batch * geometry.rows.output * geometry.columns.output >= kMinResults;
}

template <Part kPart>
std::unique_ptr<PreparedKernel> winograd_kernel(const KernelRequest& request) {
  const ConvGeometry geometry = conv_geometry_of(ConvKind::plain, kPart, request);
  if constexpr (kPart == Part::forward)
    return conv_kernel<kPart>(simd::make_winograd_conv2d(geometry));
  else if constexpr (kPart == Part::input)
    return conv_kernel<kPart>(simd::make_winograd_conv2d_backprop_input(geometry));
  else
    return conv_kernel<kPart>(simd::make_winograd_conv2d_backprop_filter(geometry));
}

template <Part kPart, class T>
std::unique_ptr<PreparedKernel> reference_conv2d(const ConvGeometry& geometry) {
  return function_kernel(
      [geometry](const LaunchArgs& args) {
        T* made = args.output<T>(0);
        if constexpr (kPart == Part::forward)
          reference::conv2d<T, T>(geometry, args.input<T>(0), args.input<T>(1), nullptr, made);
        if constexpr (kPart == Part::input)
          reference::conv2d_backprop_input<T, T>(geometry, args.input<T>(1), args.input<T>(2),
                                                 made);
        if constexpr (kPart == Part::filter)
          reference::conv2d_backprop_filter<T, T>(geometry, args.input<T>(0), args.input<T>(2),
                                                  made, nullptr);
      },
      {.may_fail = false});
}

template <ConvKind kKind, Part kPart>
std::unique_ptr<PreparedKernel> reference_conv2d_kernel(const KernelRequest& request) {
  const ConvGeometry geometry = conv_geometry_of(kKind, kPart, request);
  switch (request.outputs[0].dtype) {
    case DType::float32:
      return reference_conv2d<kPart, float>(geometry);
    case DType::float64:
      return reference_conv2d<kPart, double>(geometry);
    default:
      return reference_conv2d<kPart, std::int32_t>(geometry);
  }
}

ConvGeometry fused_geometry(const KernelRequest& request) {
  return conv_geometry(request.attributes<FusedConv2DAttrs>().conv, request.inputs[0].shape,
                       request.inputs[1].shape);
}

std::unique_ptr<PreparedKernel> fused_conv2d_kernel(const KernelRequest& request) {
  return sliced_kernel(
      onednn::make_conv2d(fused_geometry(request),
                          {.bias = true, .relu = request.attributes<FusedConv2DAttrs>().relu}));
}

std::unique_ptr<PreparedKernel> fused_winograd_kernel(const KernelRequest& request) {
  return sliced_kernel(simd::make_winograd_conv2d(
      fused_geometry(request),
      {.bias = true, .relu = request.attributes<FusedConv2DAttrs>().relu}));
}

bool operands_known(const KernelRequest& request) {
  const auto known = [](const TensorDesc& desc) { return desc.shape.fully_known(); };
  return std::all_of(request.inputs.begin(), request.inputs.end(), known) &&
         known(request.outputs[0]);
}

template <ConvKind kKind, Part kPart>
void add_part(KernelTable& table, const char* op) {
  if (kKind == ConvKind::plain) {
    table.add({.op = op,
               .label = "winograd",
               .accepts =
                   [](const KernelRequest& request) {
                     return request.outputs[0].dtype == DType::float32 && operands_known(request) &&
                            winograd_takes(request, conv_geometry_of(kKind, kPart, request));
                   },
               .prepare = winograd_kernel<kPart>});
  }
  table.add(
      {.op = op,
       .label = "oneDNN",
       .accepts =
           [](const KernelRequest& request) { return request.outputs[0].dtype == DType::float32; },
       .prepare = onednn_kernel<kKind, kPart>});
  table.add({.op = op,
             .label = "reference",
             .accepts =
                 [](const KernelRequest& request) {
                   const DType dtype = request.outputs[0].dtype;
                   return dtype == DType::float32 || dtype == DType::float64 ||
                          dtype == DType::int32;
                 },
             .prepare = reference_conv2d_kernel<kKind, kPart>});
}

template <ConvKind kKind>
void add_parts(KernelTable& table) {
  add_part<kKind, Part::forward>(table, ops_of(kKind).forward);
  add_part<kKind, Part::input>(table, ops_of(kKind).input);
  add_part<kKind, Part::filter>(table, ops_of(kKind).filter);
}

}  // namespace

static void register_conv2d_kernels(KernelTable& table) {
  add_parts<ConvKind::plain>(table);
  add_parts<ConvKind::depthwise>(table);
  table.add({.op = "_FusedConv2D",
             .label = "winograd",
             .accepts =
                 [](const KernelRequest& request) {
                   return operands_known(request) &&
                          winograd_takes(request, fused_geometry(request));
                 },
             .prepare = fused_winograd_kernel});
  table.add(
      {.op = "_FusedConv2D", .label = "oneDNN", .accepts = {}, .prepare = fused_conv2d_kernel});
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily conv2d_cpu_family() { return {.kernels = nn::register_conv2d_kernels}; }
}  // namespace towerflow
