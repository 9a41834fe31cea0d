#pragma once

#include <limits>
#include <vector>

#include "core/device/cpu/cpu_kernel.h"
#include "ops/onednn/primitive.h"
#include "ops/window.h"

namespace towerflow::onednn {

/// Layouts of a convolution over `images` images: NHWC or NCHW for activations, HWIO for the filter
/// as TensorFlow stores it, and `any` for the filter as oneDNN prefers it.
struct ConvLayouts {
  ConvLayouts(const ConvGeometry& geometry, std::int64_t images, bool bias);

  ConvDescs descs;  ///< with the filter's layout left to oneDNN
  dnnl::memory::desc any_filter;
  dnnl::memory::desc hwio;  ///< the filter in TensorFlow's order
};

/// Returns the forward descriptor of `layouts`, which is also the hint that backward descriptors
/// need.
dnnl::convolution_forward::primitive_desc choose_forward(const ConvLayouts& layouts,
                                                         const ConvGeometry& geometry);

/// Throws InvalidArgumentError for a size that oneDNN's kernels cannot index.
void check_indexable(const ConvGeometry& geometry);

/// Returns whether a result or an operand has no elements, so that oneDNN is not called at all.
inline bool is_degenerate(const ConvGeometry& g) {
  return g.batch * g.result_elements() == 0 || g.image_elements() == 0;
}

/// The batch divided into slices. Slice sizes differ by at most one, so two primitives suffice.
class BatchSlices {
 public:
  BatchSlices(std::int64_t batch, int wanted)
      : batch_(batch), count_(slice_count(batch, 1, wanted)) {}
  int count() const { return count_; }
  SliceRange range(int slice) const { return slice_range(batch_, count_, slice); }
  /// Returns the distinct slice sizes, larger first.
  std::vector<std::int64_t> sizes() const {
    const std::int64_t first = range(0).size();
    const std::int64_t last = range(count_ - 1).size();
    return first == last ? std::vector{first} : std::vector{first, last};
  }
  /// Returns the index into `sizes()` of a slice's size.
  std::size_t kind(int slice) const { return range(slice).size() == range(0).size() ? 0 : 1; }

 private:
  std::int64_t batch_;
  int count_;
};

}  // namespace towerflow::onednn
