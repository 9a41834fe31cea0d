// Two ops that go backwards.
//
//   ReverseSequence_BYTES_LENGTH   reverses the first lengths[b] elements along a dimension, for
//   each
//                                  b of another. A length outside of [0, size] sets the error
//   MirrorPadGrad_T                the gradient of padding by mirroring: each element of dx adds up
//                                  the places of dy that show it; its own, then those before it
#include "cuda/device/arguments.h"
#include "cuda/device/number.cuh"

namespace towerflow::cuda::device {
namespace {

template <int kBytes, class Length>
TOWERFLOW_DEVICE void reverse_sequence(const void* x, const Length* lengths, void* y,
                                       DataError* error, int64 n, const SequenceShape& s) {
  using E = Word<kBytes>;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    // The number of the row [outer, first, middle, second] of this element.
    const std::uint32_t row = s.inner.quotient(static_cast<std::uint32_t>(i));
    const std::uint32_t lower = s.second.quotient(row), upper = s.middle.quotient(lower);
    const std::uint32_t second = row - lower * s.second.divisor;
    const std::uint32_t first = upper - s.first.quotient(upper) * s.first.divisor;
    const bool batch_first = s.batch_first != 0;
    const std::uint32_t batch = batch_first ? first : second, place = batch_first ? second : first;
    const std::uint32_t size = batch_first ? s.second.divisor : s.first.divisor;
    const int64 stride = batch_first ? s.inner.divisor
                                     : int64{s.middle.divisor} * s.second.divisor * s.inner.divisor;
    const auto length = static_cast<int64>(lengths[batch]);
    if (length < 0 || length > size) {
      error->set(length, batch);
      static_cast<E*>(y)[i] = E{};
      continue;
    }
    const int64 moved = place < length ? length - 1 - 2 * int64{place} : 0;
    static_cast<E*>(y)[i] = static_cast<const E*>(x)[i + moved * stride];
  }
}

/// Returns one of up to three places of the padded tensor that show element `index`: its own, and
/// its images in the borders before and behind; -1 if there is no such one.
TOWERFLOW_DEVICE int64 shown_at(int which, int64 index, int64 before, int64 inner, int64 padded,
                                int mode) {
  const int64 twice = mode == PadShape::symmetric ? 1 : 0;  // whether the border appears twice
  if (which == 0) return before + index;
  if (which == 1) {
    const int64 left = before - index - twice;
    return left < before ? left : -1;
  }
  const int64 right = before + 2 * (inner - 1) - index + twice;
  return right >= before + inner && right < padded ? right : -1;
}

template <class T>
TOWERFLOW_DEVICE void mirror_pad_grad(const T* dy, T* dx, int64 n, const MirrorShape& s) {
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    int choices = 1;
    for (int d = 0; d < s.rank; ++d) choices *= 3;
    Compute<T> sum = 0;
    for (int choice = 0; choice < choices; ++choice) {
      int64 from = 0;
      bool exists = true;
      auto element = static_cast<std::uint32_t>(i);
      int rest = choice;
      for (int d = s.rank - 1; d >= 0 && exists; --d, rest /= 3) {
        const std::uint32_t outer = s.inner[d].quotient(element);
        const int64 index = element - outer * s.inner[d].divisor;
        element = outer;
        const int64 at =
            shown_at(rest % 3, index, s.before[d], s.inner[d].divisor, s.padded[d], s.mode);
        exists = at >= 0;
        from += at * s.strides[d];
      }
      if (exists) sum += widen(dy[from]);
    }
    dx[i] = narrow<T>(sum);
  }
}

}  // namespace

#define TOWERFLOW_REVERSE(bytes, name, Length)                                                  \
  TOWERFLOW_KERNEL(ReverseSequence_##bytes##_##name, 256, const void* x, const Length* lengths, \
                   void* y, DataError* error, int64 n, SequenceShape s) {                       \
    reverse_sequence<bytes>(x, lengths, y, error, n, s);                                        \
  }
#define TOWERFLOW_REVERSES(bytes)               \
  TOWERFLOW_REVERSE(bytes, int32, std::int32_t) \
  TOWERFLOW_REVERSE(bytes, int64, int64)
TOWERFLOW_REVERSES(1)
TOWERFLOW_REVERSES(2)
TOWERFLOW_REVERSES(4)
TOWERFLOW_REVERSES(8)

#define TOWERFLOW_MIRROR(name, T)                                                           \
  TOWERFLOW_KERNEL(MirrorPadGrad_##name, 256, const T* dy, T* dx, int64 n, MirrorShape s) { \
    mirror_pad_grad(dy, dx, n, s);                                                          \
  }
TOWERFLOW_MIRROR(float32, float)
TOWERFLOW_MIRROR(float64, double)
TOWERFLOW_MIRROR(float16, Half)
TOWERFLOW_MIRROR(bfloat16, BFloat16)

}  // namespace towerflow::cuda::device
