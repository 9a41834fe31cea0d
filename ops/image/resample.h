#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/cpu/launch.h"

namespace towerflow::image {

/// How rows, or columns, of an image become those of another: output i is the sum of weight[k] *
/// input[index[k]] for k from first[i] to first[i + 1] - 1. Indices of an output ascend.
struct Taps {
  std::vector<std::int64_t> first{0};
  std::vector<std::int64_t> index{};
  std::vector<float> weight{};

  std::int64_t outputs() const { return static_cast<std::int64_t>(first.size()) - 1; }
  /// Adds a part of the next output. Adds up the weights of one index, and leaves out weights of 0.
  void add(std::int64_t from, float weight);
  /// Ends the next output.
  void finish();
  /// Returns what sends each output back to its inputs, which are `inputs` in number: the taps of
  /// the gradient.
  Taps transposed(std::int64_t inputs) const;
};

/// The sizes of a batch of images, [n, height, width, channels].
struct Resampling {
  std::int64_t images = 0, height = 0, width = 0, channels = 0;
  Taps rows, columns;
};

/// Makes a kernel that computes output 0 from input 0: `In` are the numbers of the input, `Sum`
/// those in which it adds, `Out` those of the output.
template <class In, class Sum, class Out>
std::unique_ptr<PreparedKernel> resampling_kernel(Resampling resampling);

}  // namespace towerflow::image
