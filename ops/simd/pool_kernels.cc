#include <algorithm>

#include "ops/simd/kernels.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

std::size_t rounded_floats(std::int64_t count) {
  return (static_cast<std::size_t>(count) * sizeof(float) + 63) / 64 * 64;
}

class MaxPool final : public CpuKernel {
 public:
  MaxPool(const PoolGeometry& geometry, const PoolOptions& options)
      : geometry_(geometry),
        after_relu_(options.after_relu),
        slices_(slice_count(geometry.batch, 1, options.slices)) {}

  int slices(int) const override { return slices_; }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange images = slice_range(geometry_.batch, slices_, slice);
    loops().max_pool(geometry_, {images.begin, images.size()}, after_relu_,
                     static_cast<const float*>(inputs[0]), static_cast<float*>(outputs[0]));
  }

 private:
  PoolGeometry geometry_;
  bool after_relu_;
  int slices_;
};

// Channel sums, computed in parallel by slices of images and added in slice order by a second
// phase.
//
// Workspace, for each slice: total, block.
class PartialSums {
 public:
  PartialSums(std::int64_t channels, int slices) : channels_(channels), slices_(slices) {}

  std::size_t workspace_bytes() const {
    return static_cast<std::size_t>(slices_) * 2 * rounded_floats(channels_);
  }
  // `fill(&sums)` adds the rows of `slice`.
  template <class Fill>
  void partial(int slice, std::byte* workspace, Fill fill) const {
    float* total = part(slice, workspace);
    ColumnSums sums{total, total + rounded_floats(channels_) / sizeof(float), 0};
    loops().column_sums_begin(&sums, channels_);
    fill(&sums);
    loops().column_sums_end(&sums, channels_);
  }
  void combine(float* out, std::byte* workspace) const {
    std::copy_n(part(0, workspace), channels_, out);
    for (int slice = 1; slice < slices_; ++slice)
      loops().binary[static_cast<int>(Binary::add)](out, part(slice, workspace), out, channels_);
  }

 private:
  float* part(int slice, std::byte* workspace) const {
    return reinterpret_cast<float*>(workspace + static_cast<std::size_t>(slice) * 2 *
                                                    rounded_floats(channels_));
  }

  std::int64_t channels_;
  int slices_;
};

class MaxPoolGrad final : public CpuKernel {
 public:
  MaxPoolGrad(const PoolGeometry& geometry, const PoolOptions& options)
      : geometry_(geometry),
        after_relu_(options.after_relu),
        with_sums_(options.channel_sums),
        slices_(slice_count(geometry.batch, 1, options.slices)),
        sums_(geometry.channels, slices_) {}

  std::size_t workspace_bytes() const override { return with_sums_ ? sums_.workspace_bytes() : 0; }
  bool may_overwrite(int input, int output) const override {
    return input == 0 && output == 0 && is_disjoint_2x2(geometry_);
  }
  int phases() const override { return with_sums_ ? 2 : 1; }
  int slices(int phase) const override { return phase == 0 ? slices_ : 1; }
  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    if (phase == 1) return sums_.combine(static_cast<float*>(outputs[1]), workspace);
    const SliceRange images = slice_range(geometry_.batch, slices_, slice);
    const auto grad = [&](ColumnSums* sums) {
      loops().max_pool_grad(geometry_, {images.begin, images.size()}, after_relu_,
                            static_cast<const float*>(inputs[0]),
                            static_cast<const float*>(inputs[1]), static_cast<float*>(outputs[0]),
                            sums);
    };
    if (with_sums_)
      sums_.partial(slice, workspace, grad);
    else
      grad(nullptr);
  }

 private:
  PoolGeometry geometry_;
  bool after_relu_;
  bool with_sums_;
  int slices_;
  PartialSums sums_;
};

class ChannelSums final : public CpuKernel {
 public:
  ChannelSums(std::int64_t images, std::int64_t positions, std::int64_t channels, int slices)
      : images_(images),
        positions_(positions),
        channels_(channels),
        slices_(slice_count(images, 1, slices)),
        sums_(channels, slices_) {}

  std::size_t workspace_bytes() const override { return sums_.workspace_bytes(); }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? slices_ : 1; }
  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    if (phase == 1) return sums_.combine(static_cast<float*>(outputs[0]), workspace);
    const SliceRange images = slice_range(images_, slices_, slice);
    const float* x = static_cast<const float*>(inputs[0]) + images.begin * positions_ * channels_;
    sums_.partial(slice, workspace, [&](ColumnSums* sums) {
      loops().column_sums_add(sums, x, images.size() * positions_, channels_, channels_);
    });
  }

 private:
  std::int64_t images_, positions_, channels_;
  int slices_;
  PartialSums sums_;
};

}  // namespace

std::unique_ptr<CpuKernel> make_max_pool(const PoolGeometry& geometry, const PoolOptions& options) {
  return std::make_unique<MaxPool>(geometry, options);
}

std::unique_ptr<CpuKernel> make_max_pool_grad(const PoolGeometry& geometry,
                                              const PoolOptions& options) {
  return std::make_unique<MaxPoolGrad>(geometry, options);
}

std::unique_ptr<CpuKernel> make_channel_sums(std::int64_t images, std::int64_t positions,
                                             std::int64_t channels, int slices) {
  return std::make_unique<ChannelSums>(images, positions, channels, slices);
}

}  // namespace towerflow::simd
