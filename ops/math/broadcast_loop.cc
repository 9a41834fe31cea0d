#include "ops/math/broadcast_loop.h"

#include <algorithm>
#include <type_traits>

#include "core/device/cpu/launch.h"
#include "ops/math/broadcast_operand.h"

namespace towerflow {
namespace {

/// Returns the strides of an operand along the dimensions of the result: 0 where it is repeated.
std::vector<std::int64_t> broadcast_strides(const Shape& operand, const Shape& out) {
  std::vector<std::int64_t> strides(out.rank(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < operand.rank(); ++i) {
    const std::size_t from = operand.rank() - 1 - i;
    const std::size_t to = out.rank() - 1 - i;
    if (operand.size(from) != 1) strides[to] = stride;
    stride *= operand.size(from);
  }
  return strides;
}

class BroadcastKernel final : public CpuKernel {
 public:
  BroadcastKernel(const KernelRequest& request, BinaryLoops loops)
      : rows_(request.inputs[0].shape, request.inputs[1].shape, request.outputs[0].shape),
        in_bytes_(static_cast<std::int64_t>(dtype_size(request.inputs[0].dtype))),
        out_bytes_(static_cast<std::int64_t>(dtype_size(request.outputs[0].dtype))),
        loop_(rows_.kind() == BroadcastRows::Kind::both           ? loops.both
              : rows_.kind() == BroadcastRows::Kind::scalar_right ? loops.scalar_right
                                                                  : loops.scalar_left),
        cost_(loops.cost),
        may_fail_(loops.may_fail) {}
  int slices(int) const override { return loop_slices(rows_.elements(), cost_); }
  bool may_fail() const override { return may_fail_; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const auto* a = static_cast<const std::byte*>(inputs[0]);
    const auto* b = static_cast<const std::byte*>(inputs[1]);
    auto* out = static_cast<std::byte*>(outputs[0]);
    rows_.for_each(slice, slices(0), [&](const BroadcastRows::Row& row) {
      loop_(a + row.a * in_bytes_, b + row.b * in_bytes_, out + row.out * out_bytes_, row.n);
    });
  }

 private:
  BroadcastRows rows_;
  std::int64_t in_bytes_;
  std::int64_t out_bytes_;
  BinaryLoops::Loop loop_;
  int cost_;
  bool may_fail_;
};

/// As BroadcastKernel, where one operand has the shape of the result and the other repeats after
/// few elements, such as a short row: it is repeated in a piece of memory that stays in the
/// first-level cache, so that the loop runs over long pieces.
class RepeatedKernel final : public CpuKernel {
 public:
  static constexpr std::int64_t kPiece = 1024;  // elements, of at most 8 bytes

  RepeatedKernel(const KernelRequest& request, const BinaryLoops& loops, int operand)
      : operand_(operand),
        repeated_(request.inputs[static_cast<std::size_t>(operand)].shape,
                  request.outputs[0].shape),
        dtype_(request.inputs[0].dtype),
        elements_(request.outputs[0].shape.elements()),
        in_bytes_(static_cast<std::int64_t>(dtype_size(request.inputs[0].dtype))),
        out_bytes_(static_cast<std::int64_t>(dtype_size(request.outputs[0].dtype))),
        loop_(loops.both),
        cost_(loops.cost),
        may_fail_(loops.may_fail) {}
  int slices(int) const override { return loop_slices(elements_, cost_); }
  bool may_fail() const override { return may_fail_; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange part = slice_range(elements_, slices(0), slice, 64);
    const std::int64_t piece =
        std::min(kPiece / repeated_.period() * repeated_.period(), part.size());
    alignas(64) std::byte small[kPiece * sizeof(double)];
    dispatch_copyable(dtype_, [&]<class T>() {
      if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(double)) {
        repeated_.copy(static_cast<const T*>(inputs[operand_]), reinterpret_cast<T*>(small),
                       part.begin, piece);
      }
    });
    const auto* large = static_cast<const std::byte*>(inputs[1 - operand_]);
    auto* out = static_cast<std::byte*>(outputs[0]);
    for (std::int64_t at = part.begin; at < part.end; at += piece) {
      const std::byte* x = large + at * in_bytes_;
      const std::int64_t n = std::min(piece, part.end - at);
      loop_(operand_ == 0 ? small : x, operand_ == 0 ? x : small, out + at * out_bytes_, n);
    }
  }

 private:
  int operand_;  // the one that repeats
  BroadcastOperand repeated_;
  DType dtype_;
  std::int64_t elements_;
  std::int64_t in_bytes_;
  std::int64_t out_bytes_;
  BinaryLoops::Loop loop_;
  int cost_;
  bool may_fail_;
};

/// Returns the operand for a RepeatedKernel, -1 if it would not be faster.
int short_operand(const KernelRequest& request, const BinaryLoops& loops) {
  constexpr std::int64_t kLongRow = 128;  // a loop over such a row is as fast
  const Shape& out = request.outputs[0].shape;
  const BroadcastRows rows(request.inputs[0].shape, request.inputs[1].shape, out);
  const std::int64_t elements = out.elements();
  if (loops.both == nullptr || rows.width() >= kLongRow || elements < 2 * RepeatedKernel::kPiece ||
      dtype_size(request.inputs[0].dtype) > sizeof(double)) {
    return -1;
  }
  for (int operand = 0; operand < 2; ++operand) {
    const Shape& shape = request.inputs[static_cast<std::size_t>(operand)].shape;
    const Shape& other = request.inputs[static_cast<std::size_t>(1 - operand)].shape;
    if (other.elements() == elements && shape.elements() < elements &&
        BroadcastOperand(shape, out).period() <= RepeatedKernel::kPiece) {
      return operand;
    }
  }
  return -1;
}

class UnaryKernel final : public CpuKernel {
 public:
  UnaryKernel(const KernelRequest& request, UnaryLoop loop, int cost)
      : elements_(request.outputs[0].shape.elements()),
        in_bytes_(static_cast<std::int64_t>(dtype_size(request.inputs[0].dtype))),
        out_bytes_(static_cast<std::int64_t>(dtype_size(request.outputs[0].dtype))),
        loop_(loop),
        cost_(cost) {}
  int slices(int) const override { return loop_slices(elements_, cost_); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange part = slice_range(elements_, slices(0), slice, 64);
    loop_(static_cast<const std::byte*>(inputs[0]) + part.begin * in_bytes_,
          static_cast<std::byte*>(outputs[0]) + part.begin * out_bytes_, part.size());
  }

 private:
  std::int64_t elements_;
  std::int64_t in_bytes_;
  std::int64_t out_bytes_;
  UnaryLoop loop_;
  int cost_;
};

/// Returns the inputs whose memory the output may reuse: those of the same shape and element size.
std::vector<InPlacePair> in_place_pairs(const KernelRequest& request) {
  std::vector<InPlacePair> pairs;
  const TensorDesc& out = request.outputs[0];
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorDesc& in = request.inputs[i];
    if (in.shape == out.shape && dtype_size(in.dtype) == dtype_size(out.dtype)) {
      pairs.push_back({0, static_cast<int>(i)});
    }
  }
  return pairs;
}

}  // namespace

BroadcastRows::BroadcastRows(const Shape& a, const Shape& b, const Shape& out) {
  const std::vector<std::int64_t> a_strides = broadcast_strides(a, out);
  const std::vector<std::int64_t> b_strides = broadcast_strides(b, out);
  for (std::size_t i = 0; i < out.rank(); ++i) add(out.size(i), a_strides[i], b_strides[i]);
  if (rank_ == 0) return;
  --rank_;  // the innermost dimension is the row
  width_ = sizes_[rank_];
  if (a_[rank_] == 0) kind_ = Kind::scalar_left;
  if (b_[rank_] == 0) kind_ = Kind::scalar_right;
  for (std::size_t i = 0; i < rank_; ++i) rows_ *= sizes_[i];
}

void BroadcastRows::add(std::int64_t size, std::int64_t a, std::int64_t b) {
  if (size == 1) return;
  if (rank_ > 0 && a_[rank_ - 1] == size * a && b_[rank_ - 1] == size * b) {
    sizes_[rank_ - 1] *= size;
    a_[rank_ - 1] = a;
    b_[rank_ - 1] = b;
    return;
  }
  sizes_[rank_] = size;
  a_[rank_] = a;
  b_[rank_] = b;
  ++rank_;
}

std::unique_ptr<PreparedKernel> broadcast_kernel(const KernelRequest& request, BinaryLoops loops) {
  check_kernel_rank(request);
  const int repeats = short_operand(request, loops);
  if (repeats >= 0) {
    return sliced_kernel(std::make_unique<RepeatedKernel>(request, loops, repeats),
                         in_place_pairs(request));
  }
  return sliced_kernel(std::make_unique<BroadcastKernel>(request, loops), in_place_pairs(request));
}

std::unique_ptr<PreparedKernel> unary_kernel(const KernelRequest& request, UnaryLoop loop,
                                             int cost) {
  return sliced_kernel(std::make_unique<UnaryKernel>(request, loop, cost), in_place_pairs(request));
}

}  // namespace towerflow
