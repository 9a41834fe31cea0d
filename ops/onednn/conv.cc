#include "ops/onednn/conv.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/onednn/conv_parts.h"
#include "ops/simd/loops.h"

namespace towerflow::onednn {
namespace {

constexpr std::size_t kSmallFilter = std::size_t{1} << 20;  // bytes

void* mutable_pointer(const void* pointer) { return const_cast<void*>(pointer); }

// A primitive for a fixed number of images.
struct Part {
  std::int64_t images = 0;
  Primitive primitive;
};

// Base of forward and backprop_input, which read a filter. Each slice runs its images in pieces of
// `chunk` images.
//
// Workspace: the rearranged filter if it is shared, then for each slice its own filter and scratch.
class FilterReader : public CpuKernel {
 public:
  FilterReader(const ConvGeometry& geometry, int slices)
      : geometry_(geometry), batch_(geometry.batch, slices) {
    check_indexable(geometry);
  }

  std::size_t workspace_bytes() const override {
    return shared_bytes_ + static_cast<std::size_t>(batch_.count()) * slice_bytes_;
  }
  int phases() const override { return shared_bytes_ > 0 ? 2 : 1; }
  int slices(int phase) const override { return phase < phases() - 1 ? 1 : batch_.count(); }

  bool may_fail() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.primitive.allocates_memory(); });
  }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const final {
    const SliceRange images = batch_.range(slice);
    if (parts_.empty()) return run_degenerate(images, inputs, outputs);
    void* filter = mutable_pointer(inputs[filter_input_]);
    std::byte* own = workspace + shared_bytes_ + static_cast<std::size_t>(slice) * slice_bytes_;
    std::byte* scratch = own + filter_bytes_;
    if (phase < phases() - 1) return reorder_.run({{filter, workspace}}, scratch);
    if (shared_bytes_ > 0) {
      filter = workspace;
    } else if (reorder_) {
      reorder_.run({{filter, own}}, scratch);
      filter = own;
    }
    for (SliceRange piece = images; piece.begin < images.end; piece.begin = piece.end) {
      piece.end = std::min(piece.begin + chunk_, images.end);
      run_images(part_for(piece.size()), piece, filter, inputs, outputs, scratch);
    }
  }

 protected:
  // `make_part(layouts, layout)` makes the primitive and stores the filter's layout in `layout`.
  // All parts share the layout that the first one prefers.
  template <class MakePart>
  void prepare_parts(int filter_input, std::int64_t chunk, bool bias, MakePart make_part) {
    filter_input_ = filter_input;
    chunk_ = chunk;
    if (is_degenerate(geometry_)) return;
    dnnl::memory::desc layout;
    for (const std::int64_t slice : batch_.sizes())
      for (const std::int64_t images : {std::min(chunk, slice), slice % chunk}) {
        if (images == 0 || find_part(images) != nullptr) continue;
        ConvLayouts layouts(geometry_, images, bias);
        if (!parts_.empty()) layouts.descs.filter = layout;
        parts_.push_back({images, make_part(layouts, layout)});
        reorder_ = make_reorder(layouts.hwio, layout, batch_.count());
      }
    std::size_t scratch = reorder_.scratch_bytes();
    for (const Part& part : parts_) scratch = std::max(scratch, part.primitive.scratch_bytes());
    if (reorder_) {
      const std::size_t filter = whole_lines(layout.get_size());
      (filter > kSmallFilter ? shared_bytes_ : filter_bytes_) = filter;
    }
    slice_bytes_ = filter_bytes_ + whole_lines(scratch);
  }

  virtual void run_images(const Primitive& primitive, SliceRange images, void* filter,
                          const void* const* inputs, void* const* outputs,
                          std::byte* scratch) const = 0;
  virtual void run_degenerate(SliceRange images, const void* const* inputs,
                              void* const* outputs) const = 0;

  ConvGeometry geometry_;
  BatchSlices batch_;

 private:
  const Part* find_part(std::int64_t images) const {
    for (const Part& part : parts_)
      if (part.images == images) return &part;
    return nullptr;
  }
  const Primitive& part_for(std::int64_t images) const { return find_part(images)->primitive; }

  std::vector<Part> parts_;
  Primitive reorder_;  // empty if oneDNN prefers TensorFlow's layout
  std::int64_t chunk_ = 1;
  int filter_input_ = 0;
  std::size_t shared_bytes_ = 0;
  std::size_t filter_bytes_ = 0;
  std::size_t slice_bytes_ = 0;
};

// Returns how many images' results stay in the L2 cache until the relu has run over them.
std::int64_t relu_chunk(const ConvGeometry& g) {
  constexpr std::int64_t kElements = 48 << 10;
  return std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, g.result_elements()));
}

class Forward final : public FilterReader {
 public:
  Forward(const ConvGeometry& geometry, const ConvOptions& options)
      : FilterReader(geometry, options.slices), bias_(options.bias), relu_(options.relu) {
    const std::int64_t whole = std::max<std::int64_t>(1, geometry.batch);
    prepare_parts(1, relu_ ? std::min(whole, relu_chunk(geometry)) : whole, bias_,
                  [&](const ConvLayouts& layouts, dnnl::memory::desc& layout) {
                    return prepare("conv2d", [&] { return make_part(layouts, layout); });
                  });
  }

 private:
  Primitive make_part(const ConvLayouts& layouts, dnnl::memory::desc& layout) const {
    const auto pd = choose_forward(layouts, geometry_);
    layout = pd.weights_desc();
    std::vector<Primitive::Operand> operands = {{DNNL_ARG_SRC, pd.src_desc()},
                                                {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                                {DNNL_ARG_DST, pd.dst_desc()}};
    if (bias_) operands.push_back({DNNL_ARG_BIAS, pd.bias_desc()});
    return {dnnl::convolution_forward(pd), pd.scratchpad_desc(), operands, batch_.count()};
  }

  void run_images(const Primitive& primitive, SliceRange images, void* filter,
                  const void* const* inputs, void* const* outputs,
                  std::byte* scratch) const override {
    const float* x = static_cast<const float*>(inputs[0]);
    float* y = static_cast<float*>(outputs[0]) + images.begin * geometry_.result_elements();
    void* const pointers[] = {mutable_pointer(x + images.begin * geometry_.image_elements()),
                              filter, y, bias_ ? mutable_pointer(inputs[2]) : nullptr};
    primitive.run({pointers, bias_ ? 4u : 3u}, scratch);
    // Not fused into the primitive, because oneDNN's relu turns NaN into 0 and would hide it.
    if (relu_) simd::loops().relu(y, y, images.size() * geometry_.result_elements());
  }

  // No input element reaches a result: only the bias is left.
  void run_degenerate(SliceRange images, const void* const* inputs,
                      void* const* outputs) const override {
    const std::int64_t channels = geometry_.out_channels;
    const std::int64_t size = geometry_.result_elements();
    float* y = static_cast<float*>(outputs[0]);
    for (std::int64_t i = images.begin * size; i < images.end * size; ++i)
      y[i] = bias_ ? static_cast<const float*>(inputs[2])[i % channels] : 0.0f;
    if (relu_)
      simd::loops().relu(y + images.begin * size, y + images.begin * size, images.size() * size);
  }

  bool bias_;
  bool relu_;
};

class BackpropInput final : public FilterReader {
 public:
  BackpropInput(const ConvGeometry& geometry, const ConvOptions& options)
      : FilterReader(geometry, options.slices) {
    prepare_parts(0, std::max<std::int64_t>(1, geometry.batch), false,
                  [&](const ConvLayouts& layouts, dnnl::memory::desc& layout) {
                    return prepare("conv2d_backprop_input",
                                   [&] { return make_part(layouts, layout); });
                  });
  }

 private:
  Primitive make_part(const ConvLayouts& layouts, dnnl::memory::desc& layout) const {
    ConvLayouts hint = layouts;
    hint.descs.filter = layouts.any_filter;
    const auto pd = conv_backward_data_pd(cpu_engine(), layouts.descs,
                                          choose_forward(hint, geometry_), caller_scratchpad());
    layout = pd.weights_desc();
    return {dnnl::convolution_backward_data(pd),
            pd.scratchpad_desc(),
            {{DNNL_ARG_DIFF_SRC, pd.diff_src_desc()},
             {DNNL_ARG_WEIGHTS, pd.weights_desc()},
             {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()}},
            batch_.count()};
  }

  void run_images(const Primitive& primitive, SliceRange images, void* filter,
                  const void* const* inputs, void* const* outputs,
                  std::byte* scratch) const override {
    const float* dy = static_cast<const float*>(inputs[1]);
    float* dx = static_cast<float*>(outputs[0]);
    void* const pointers[] = {dx + images.begin * geometry_.image_elements(), filter,
                              mutable_pointer(dy + images.begin * geometry_.result_elements())};
    primitive.run(pointers, scratch);
  }

  void run_degenerate(SliceRange images, const void* const*, void* const* outputs) const override {
    const std::int64_t size = geometry_.image_elements();
    float* dx = static_cast<float*>(outputs[0]);
    std::fill(dx + images.begin * size, dx + images.end * size, 0.0f);
  }
};

}  // namespace

std::unique_ptr<CpuKernel> make_conv2d(const ConvGeometry& geometry, const ConvOptions& options) {
  return std::make_unique<Forward>(geometry, options);
}

std::unique_ptr<CpuKernel> make_conv2d_backprop_input(const ConvGeometry& geometry,
                                                      const ConvOptions& options) {
  return std::make_unique<BackpropInput>(geometry, options);
}

}  // namespace towerflow::onednn
