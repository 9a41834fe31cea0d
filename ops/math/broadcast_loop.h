#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/device/cpu/cpu_kernel.h"
#include "ops/kernel_dims.h"

/// Marks a loop whose output is either the same memory as an input or disjoint from it. Empty for
/// clang, which warns about every such loop that it does not vectorise.
#if defined(__clang__)
#define TOWERFLOW_INDEPENDENT
#else
#define TOWERFLOW_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace towerflow {

/// The iteration space of a broadcast of two operands. Adjacent dimensions are merged where strides
/// allow, which leaves few, long rows of one kind: both operands dense, or the right or left one a
/// single number. Strides are in elements.
class BroadcastRows {
 public:
  BroadcastRows(const Shape& a, const Shape& b, const Shape& out);

  enum class Kind { both, scalar_right, scalar_left };
  Kind kind() const { return kind_; }
  std::int64_t elements() const { return rows_ * width_; }
  std::int64_t width() const { return width_; }

  struct Row {
    std::int64_t a, b, out, n;  ///< offsets, and the number of elements
  };
  /// Calls `f(Row)` for each row of part `slice` of `slices`, in order.
  template <class F>
  void for_each(int slice, int slices, F&& f) const {
    if (elements() == 0) return;
    if (rows_ == 1) {
      const SliceRange part = slice_range(width_, slices, slice, 64);
      f(Row{part.begin * (kind_ != Kind::scalar_left), part.begin * (kind_ != Kind::scalar_right),
            part.begin, part.size()});
      return;
    }
    const SliceRange part = slice_range(rows_, slices, slice);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      std::int64_t rest = row;
      Row at{0, 0, row * width_, width_};
      for (std::size_t i = rank_; i-- > 0;) {
        const std::int64_t index = rest % sizes_[i];
        rest /= sizes_[i];
        at.a += index * a_[i];
        at.b += index * b_[i];
      }
      f(at);
    }
  }

 private:
  void add(std::int64_t size, std::int64_t a, std::int64_t b);

  std::size_t rank_ = 0;  // dimensions outside the row
  std::array<std::int64_t, kMaxKernelRank> sizes_{};
  std::array<std::int64_t, kMaxKernelRank> a_{};
  std::array<std::int64_t, kMaxKernelRank> b_{};
  std::int64_t rows_ = 1;
  std::int64_t width_ = 1;
  Kind kind_ = Kind::both;
};

/// Loops over one row: a[n] op b[n]. A scalar operand is b[0] or a[0].
struct BinaryLoops {
  using Loop = void (*)(const void* a, const void* b, void* out, std::int64_t n);
  Loop both = nullptr;
  Loop scalar_right = nullptr;
  Loop scalar_left = nullptr;
  bool may_fail = false;  ///< throws for some elements
  int cost = 1;           ///< of an element, for `loop_slices`
};

/// Returns the three loops of a functor `R operator()(T, T) const`. A functor that throws for some
/// elements sets `kMayThrow`, a costly one `kCost`.
template <class T, class R, class F>
BinaryLoops binary_loops() {
  constexpr bool refuses = [] {
    if constexpr (requires { F::kMayThrow; }) return F::kMayThrow;
    return false;
  }();
  constexpr int cost = [] {
    if constexpr (requires { F::kCost; }) return F::kCost;
    return 1;
  }();
  return {[](const void* a, const void* b, void* out, std::int64_t n) {
            const T* x = static_cast<const T*>(a);
            const T* y = static_cast<const T*>(b);
            R* z = static_cast<R*>(out);
            TOWERFLOW_INDEPENDENT
            for (std::int64_t i = 0; i < n; ++i) z[i] = F()(x[i], y[i]);
          },
          [](const void* a, const void* b, void* out, std::int64_t n) {
            const T* x = static_cast<const T*>(a);
            const T y = *static_cast<const T*>(b);
            R* z = static_cast<R*>(out);
            TOWERFLOW_INDEPENDENT
            for (std::int64_t i = 0; i < n; ++i) z[i] = F()(x[i], y);
          },
          [](const void* a, const void* b, void* out, std::int64_t n) {
            const T x = *static_cast<const T*>(a);
            const T* y = static_cast<const T*>(b);
            R* z = static_cast<R*>(out);
            TOWERFLOW_INDEPENDENT
            for (std::int64_t i = 0; i < n; ++i) z[i] = F()(x, y[i]);
          },
          refuses, cost};
}

/// Returns a kernel that runs `loops` over the broadcast of inputs 0 and 1 of `request`.
std::unique_ptr<PreparedKernel> broadcast_kernel(const KernelRequest& request, BinaryLoops loops);

/// A loop `loop(x, out, n)`, and the kernel that runs it over input 0 of `request`. `cost` is that
/// of an element, for `loop_slices`.
using UnaryLoop = void (*)(const void* x, void* out, std::int64_t n);
std::unique_ptr<PreparedKernel> unary_kernel(const KernelRequest& request, UnaryLoop loop,
                                             int cost = 1);

/// Returns the loop of a functor `R operator()(T) const`.
template <class T, class R, class F>
UnaryLoop unary_loop() {
  return [](const void* in, void* out, std::int64_t n) {
    const T* x = static_cast<const T*>(in);
    R* y = static_cast<R*>(out);
    TOWERFLOW_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i) y[i] = F()(x[i]);
  };
}

}  // namespace towerflow
