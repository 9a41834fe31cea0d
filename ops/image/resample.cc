#include "ops/image/resample.h"

#include <algorithm>

namespace towerflow::image {

void Taps::add(std::int64_t from, float tap_weight) {
  if (tap_weight == 0) return;
  const auto begin = index.begin() + static_cast<std::ptrdiff_t>(first.back());
  const auto at = std::lower_bound(begin, index.end(), from);
  const auto place = weight.begin() + (at - index.begin());
  if (at != index.end() && *at == from) {
    *place += tap_weight;
    return;
  }
  weight.insert(place, tap_weight);
  index.insert(at, from);
}

void Taps::finish() { first.push_back(static_cast<std::int64_t>(index.size())); }

Taps Taps::transposed(std::int64_t inputs) const {
  Taps made;
  made.first.assign(static_cast<std::size_t>(inputs) + 1, 0);
  made.index.resize(index.size());
  made.weight.resize(weight.size());
  for (const std::int64_t from : index) ++made.first[static_cast<std::size_t>(from) + 1];
  for (std::size_t i = 1; i < made.first.size(); ++i) made.first[i] += made.first[i - 1];
  std::vector<std::int64_t> next = made.first;
  for (std::int64_t i = 0; i < outputs(); ++i) {
    const auto output = static_cast<std::size_t>(i);
    for (std::int64_t k = first[output]; k < first[output + 1]; ++k) {
      const auto tap = static_cast<std::size_t>(k);
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(index[tap])]++);
      made.index[at] = i;
      made.weight[at] = weight[tap];
    }
  }
  return made;
}

namespace {

/// Resamples each row that is needed to the new width, then adds up such rows. The last few rows
/// are kept, since neighbouring results share them.
template <class In, class Sum, class Out>
class ResamplingKernel final : public CpuKernel {
 public:
  explicit ResamplingKernel(Resampling resampling)
      : r_(std::move(resampling)), row_(r_.columns.outputs() * r_.channels) {
    const std::int64_t rows = r_.rows.outputs();
    const auto row_taps = static_cast<std::int64_t>(r_.rows.index.size());
    const auto column_taps = static_cast<std::int64_t>(r_.columns.index.size());
    // A row of the result may need many of the image.
    const std::int64_t read = std::min(row_taps, r_.height) * column_taps * r_.channels;
    slices_ = row_slices(r_.images * rows, std::max(row_, rows == 0 ? 0 : read / rows));
  }
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices(0)) * kKept * row_bytes();
  }
  int slices(int) const override { return slices_; }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const std::int64_t height = r_.rows.outputs();
    const SliceRange part = slice_range(r_.images * height, slices(0), slice);
    Kept kept;
    kept.memory = workspace + static_cast<std::size_t>(slice) * kKept * row_bytes();
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      kept.turn_to(i / height);
      const auto* image =
          static_cast<const In*>(inputs[0]) + i / height * r_.height * r_.width * r_.channels;
      add_rows(image, i % height, kept, static_cast<Out*>(outputs[0]) + i * row_);
    }
  }

 private:
  static constexpr std::int64_t kKept = 4;

  /// Rows of the new width, by the number of their row in the image modulo kKept.
  struct Kept {
    void turn_to(std::int64_t next) {
      if (next != image) std::fill_n(rows, kKept, -1);
      image = next;
    }
    std::byte* memory = nullptr;
    std::int64_t image = -1;
    std::int64_t rows[kKept] = {-1, -1, -1, -1};
  };

  std::size_t row_bytes() const {
    return (static_cast<std::size_t>(row_) * sizeof(Sum) + 63) / 64 * 64;
  }

  const Sum* resampled_row(const In* image, std::int64_t row, Kept& kept) const {
    const std::int64_t slot = row % kKept;
    auto* sums = reinterpret_cast<Sum*>(kept.memory + static_cast<std::size_t>(slot) * row_bytes());
    if (kept.rows[slot] == row) return sums;
    kept.rows[slot] = row;
    const In* source = image + row * r_.width * r_.channels;
    switch (r_.channels) {
      case 1:
        resample_row<1>(source, sums);
        break;
      case 3:
        resample_row<3>(source, sums);
        break;
      case 4:
        resample_row<4>(source, sums);
        break;
      default:
        resample_row<0>(source, sums);
    }
    return sums;
  }

  /// `kChannels` is 0 for any number of channels.
  template <std::int64_t kChannels>
  void resample_row(const In* source, Sum* sums) const {
    const std::int64_t channels = kChannels == 0 ? r_.channels : kChannels;
    const std::int64_t* first = r_.columns.first.data();
    const std::int64_t* index = r_.columns.index.data();
    const float* weight = r_.columns.weight.data();
    const std::int64_t width = r_.columns.outputs();
    for (std::int64_t x = 0; x < width; ++x, sums += channels) {
      for (std::int64_t c = 0; c < channels; ++c) sums[c] = Sum(0);
      for (std::int64_t k = first[x]; k < first[x + 1]; ++k) {
        const In* pixel = source + index[k] * channels;
        const Sum factor = static_cast<Sum>(weight[k]);
        for (std::int64_t c = 0; c < channels; ++c)
          sums[c] = static_cast<Sum>(sums[c] + static_cast<Sum>(pixel[c]) * factor);
      }
    }
  }

  void add_rows(const In* image, std::int64_t y, Kept& kept, Out* out) const {
    const std::int64_t begin = r_.rows.first[static_cast<std::size_t>(y)];
    const std::int64_t count = r_.rows.first[static_cast<std::size_t>(y) + 1] - begin;
    const std::int64_t* index = r_.rows.index.data() + begin;
    const float* weight = r_.rows.weight.data() + begin;
    if (count == 0) {
      std::fill_n(out, row_, Out(0));
      return;
    }
    if (count == 4 && index[3] == index[0] + 3) {
      const Sum* rows[4];
      Sum factors[4];
      for (int k = 0; k < 4; ++k) {
        rows[k] = resampled_row(image, index[k], kept);
        factors[k] = static_cast<Sum>(weight[k]);
      }
      const Sum *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
      for (std::int64_t j = 0; j < row_; ++j) {
        out[j] = static_cast<Out>(a[j] * factors[0] + b[j] * factors[1] + c[j] * factors[2] +
                                  d[j] * factors[3]);
      }
      return;
    }
    std::int64_t k = 0;
    if (count >= 2 && index[1] == index[0] + 1) {
      const Sum* a = resampled_row(image, index[0], kept);
      const Sum* b = resampled_row(image, index[1], kept);
      const Sum first = static_cast<Sum>(weight[0]), second = static_cast<Sum>(weight[1]);
      for (std::int64_t j = 0; j < row_; ++j)
        out[j] = static_cast<Out>(a[j] * first + b[j] * second);
      k = 2;
    } else {
      const Sum* a = resampled_row(image, index[0], kept);
      const Sum factor = static_cast<Sum>(weight[0]);
      for (std::int64_t j = 0; j < row_; ++j) out[j] = static_cast<Out>(a[j] * factor);
      k = 1;
    }
    for (; k < count; ++k) {
      const Sum* a = resampled_row(image, index[k], kept);
      const Sum factor = static_cast<Sum>(weight[k]);
      for (std::int64_t j = 0; j < row_; ++j)
        out[j] = static_cast<Out>(out[j] + static_cast<Out>(a[j] * factor));
    }
  }

  Resampling r_;
  std::int64_t row_;
  int slices_;
};

}  // namespace

template <class In, class Sum, class Out>
std::unique_ptr<PreparedKernel> resampling_kernel(Resampling resampling) {
  return sliced_kernel(std::make_unique<ResamplingKernel<In, Sum, Out>>(std::move(resampling)));
}

#define TOWERFLOW_RESAMPLING(In, Sum, Out) \
  template std::unique_ptr<PreparedKernel> resampling_kernel<In, Sum, Out>(Resampling)
TOWERFLOW_RESAMPLING(float, float, float);
TOWERFLOW_RESAMPLING(double, float, float);
TOWERFLOW_RESAMPLING(std::int8_t, float, float);
TOWERFLOW_RESAMPLING(std::int16_t, float, float);
TOWERFLOW_RESAMPLING(std::int32_t, float, float);
TOWERFLOW_RESAMPLING(std::int64_t, float, float);
TOWERFLOW_RESAMPLING(std::uint8_t, float, float);
TOWERFLOW_RESAMPLING(std::uint16_t, float, float);
TOWERFLOW_RESAMPLING(float, double, double);
TOWERFLOW_RESAMPLING(double, double, double);
TOWERFLOW_RESAMPLING(std::uint8_t, std::uint8_t, std::uint8_t);
TOWERFLOW_RESAMPLING(std::uint32_t, std::uint32_t, std::uint32_t);
#undef TOWERFLOW_RESAMPLING

}  // namespace towerflow::image
