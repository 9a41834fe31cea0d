#include "ops/onednn/conv_parts.h"

#include <fmt/format.h>

#include <string_view>

#include "core/graph/error.h"

namespace towerflow::onednn {
namespace {

using dnnl::memory;

memory::desc images_desc(const ConvGeometry& g, std::int64_t n, std::int64_t h, std::int64_t w,
                         std::int64_t c) {
  return {{n, c, h, w},
          memory::data_type::f32,
          g.channels_first ? memory::format_tag::nchw : memory::format_tag::nhwc};
}

}  // namespace

ConvLayouts::ConvLayouts(const ConvGeometry& g, std::int64_t images, bool bias) {
  const bool grouped = g.groups != 1;
  memory::dims filter = {g.out_channels / g.groups, g.in_channels / g.groups, g.rows.window,
                         g.columns.window};
  if (grouped) filter.insert(filter.begin(), g.groups);
  const auto f32 = memory::data_type::f32;
  descs.x = images_desc(g, images, g.rows.input, g.columns.input, g.in_channels);
  descs.y = images_desc(g, images, g.rows.output, g.columns.output, g.out_channels);
  any_filter = {filter, f32, memory::format_tag::any};
  descs.filter = any_filter;
  if (bias) descs.bias = {{g.out_channels}, f32, memory::format_tag::x};
  descs.strides = {g.rows.stride, g.columns.stride};
  descs.dilates = {g.rows.dilation - 1, g.columns.dilation - 1};  // the number of gaps
  descs.pad_before = {g.rows.pad_before, g.columns.pad_before};
  descs.pad_after = {g.rows.pad_after, g.columns.pad_after};
  hwio = {filter, f32, grouped ? memory::format_tag::hwigo : memory::format_tag::hwio};
}

// With few input channels, the batch-reduce kernel that the library prefers has sums too short to
// be fast: 92 against 116 GFLOP/s for 5x5x1x32 (oneDNN 2.6.3, AVX-512).
dnnl::convolution_forward::primitive_desc choose_forward(const ConvLayouts& layouts,
                                                         const ConvGeometry& geometry) {
  auto pd = conv_forward_pd(cpu_engine(), layouts.descs, caller_scratchpad());
  if (geometry.in_channels >= 16 || geometry.groups != 1) return pd;
  const auto next =
      conv_forward_pd(cpu_engine(), layouts.descs, caller_scratchpad(), [](auto& candidate) {
        while (std::string_view(candidate.impl_info_str()).starts_with("brgconv") &&
               candidate.next_impl()) {
        }
      });
  return std::string_view(next.impl_info_str()).starts_with("jit") ? next : pd;
}

void check_indexable(const ConvGeometry& g) {
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t size :
       {g.batch, g.in_channels, g.out_channels, g.rows.input, g.columns.input, g.rows.window,
        g.columns.window, g.rows.stride, g.columns.stride, g.rows.dilation, g.columns.dilation,
        g.rows.pad_before, g.rows.pad_after, g.columns.pad_before, g.columns.pad_after})
    if (size > kLimit)
      throw errors::InvalidArgumentError(
          fmt::format("A convolution cannot have a size of {}; the limit is {}.", size, kLimit));
}

}  // namespace towerflow::onednn
