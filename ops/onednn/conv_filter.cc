#include <algorithm>
#include <vector>

#include "ops/onednn/conv.h"
#include "ops/onednn/conv_parts.h"
#include "ops/simd/loops.h"

namespace towerflow::onednn {
namespace {

// Phase 0: each slice of the batch computes its partial sum in oneDNN's layout and converts it to
// TensorFlow's, slice 0 in the output and the others in the workspace. Phase 1 adds them.
//
// Workspace, for each slice: sum in oneDNN's layout, sum in HWIO, bias sum, scratch.
class BackpropFilter final : public CpuKernel {
 public:
  BackpropFilter(const ConvGeometry& geometry, const ConvOptions& options)
      : geometry_(geometry), batch_(geometry.batch, options.slices), bias_(options.bias) {
    check_indexable(geometry);
    if (is_degenerate(geometry)) return;
    for (const std::int64_t images : batch_.sizes())
      parts_.push_back(prepare("conv2d_backprop_filter", [&] { return make_part(images); }));
    std::size_t scratch = 0;
    for (const Part& part : parts_) {
      if (part.reorder)
        blocked_bytes_ = std::max(blocked_bytes_, whole_lines(part.filter.get_size()));
      scratch = std::max({scratch, part.primitive.scratch_bytes(), part.reorder.scratch_bytes()});
    }
    plain_bytes_ =
        whole_lines(static_cast<std::size_t>(geometry.filter_elements()) * sizeof(float));
    bias_bytes_ = whole_lines(static_cast<std::size_t>(geometry.out_channels) * sizeof(float));
    slice_bytes_ = blocked_bytes_ + plain_bytes_ + bias_bytes_ + whole_lines(scratch);
  }

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(batch_.count()) * slice_bytes_;
  }
  int phases() const override { return batch_.count() > 1 ? 2 : 1; }
  int slices(int phase) const override {
    return phase == 0 ? batch_.count() : loop_slices(geometry_.filter_elements());
  }

  bool may_fail() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.primitive.allocates_memory(); });
  }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    float* filter = static_cast<float*>(outputs[0]);
    float* bias = bias_ ? static_cast<float*>(outputs[1]) : nullptr;
    if (parts_.empty()) {
      if (phase != 0 || slice != 0) return;
      run_degenerate(static_cast<const float*>(inputs[1]), filter, bias);
    } else if (phase == 0) {
      partial_sum(slice, inputs, filter, bias, workspace);
    } else {
      const SliceRange part = slice_range(geometry_.filter_elements(), slices(1), slice, 16);
      for (int from = 1; from < batch_.count(); ++from) {
        add(filter, plain_sum(from, workspace), part);
        if (bias_ && slice == 0) add(bias, bias_sum(from, workspace), {0, geometry_.out_channels});
      }
    }
  }

 private:
  struct Part {
    Primitive primitive;
    Primitive reorder;  // empty if the layout is TensorFlow's
    dnnl::memory::desc filter;
  };

  Part make_part(std::int64_t images) const {
    const ConvLayouts layouts(geometry_, images, bias_);
    const auto pd = conv_backward_weights_pd(
        cpu_engine(), layouts.descs, choose_forward(layouts, geometry_), caller_scratchpad());
    std::vector<Primitive::Operand> operands = {{DNNL_ARG_SRC, pd.src_desc()},
                                                {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                                                {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()}};
    if (bias_) operands.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc()});
    return {Primitive(dnnl::convolution_backward_weights(pd), pd.scratchpad_desc(), operands,
                      batch_.count()),
            make_reorder(pd.diff_weights_desc(), layouts.hwio, batch_.count()),
            pd.diff_weights_desc()};
  }

  std::byte* slice_workspace(int slice, std::byte* workspace) const {
    return workspace + static_cast<std::size_t>(slice) * slice_bytes_;
  }
  float* plain_sum(int slice, std::byte* workspace) const {
    return reinterpret_cast<float*>(slice_workspace(slice, workspace) + blocked_bytes_);
  }
  float* bias_sum(int slice, std::byte* workspace) const {
    return reinterpret_cast<float*>(slice_workspace(slice, workspace) + blocked_bytes_ +
                                    plain_bytes_);
  }

  void partial_sum(int slice, const void* const* inputs, float* filter, float* bias,
                   std::byte* workspace) const {
    const Part& part = parts_[batch_.kind(slice)];
    const SliceRange images = batch_.range(slice);
    std::byte* blocked = slice_workspace(slice, workspace);
    std::byte* scratch = blocked + blocked_bytes_ + plain_bytes_ + bias_bytes_;
    if (slice > 0) {
      filter = plain_sum(slice, workspace);
      bias = bias_sum(slice, workspace);
    }
    const float* x = static_cast<const float*>(inputs[0]);
    const float* dy = static_cast<const float*>(inputs[1]);
    void* const pointers[] = {const_cast<float*>(x + images.begin * geometry_.image_elements()),
                              const_cast<float*>(dy + images.begin * geometry_.result_elements()),
                              part.reorder ? static_cast<void*>(blocked) : filter, bias};
    part.primitive.run({pointers, bias_ ? 4u : 3u}, scratch);
    if (part.reorder) part.reorder.run({{blocked, filter}}, scratch);
  }

  // No input element meets a gradient, but the bias still sums all gradients.
  void run_degenerate(const float* dy, float* filter, float* bias) const {
    std::fill_n(filter, geometry_.filter_elements(), 0.0f);
    if (!bias_) return;
    std::fill_n(bias, geometry_.out_channels, 0.0f);
    for (std::int64_t i = 0; i < geometry_.batch * geometry_.result_elements(); ++i)
      bias[i % geometry_.out_channels] += dy[i];
  }

  static void add(float* sum, const float* more, SliceRange range) {
    simd::loops().binary[static_cast<int>(simd::Binary::add)](sum + range.begin, more + range.begin,
                                                              sum + range.begin, range.size());
  }

  ConvGeometry geometry_;
  BatchSlices batch_;
  bool bias_;
  std::vector<Part> parts_;
  std::size_t blocked_bytes_ = 0;
  std::size_t plain_bytes_ = 0;
  std::size_t bias_bytes_ = 0;
  std::size_t slice_bytes_ = 0;
};

}  // namespace

std::unique_ptr<CpuKernel> make_conv2d_backprop_filter(const ConvGeometry& geometry,
                                                       const ConvOptions& options) {
  return std::make_unique<BackpropFilter>(geometry, options);
}

}  // namespace towerflow::onednn
