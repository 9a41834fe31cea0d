#include "ops/math/batch_product.h"

#include "ops/strided_copy.h"

namespace towerflow {
namespace {

/// Computes each product of a slice by itself, in all slices of its own kernel one after another.
class BatchProductKernel final : public CpuKernel {
 public:
  explicit BatchProductKernel(const BatchProduct& batch)
      : batch_(batch),
        product_(onednn::make_matmul(batch.matrix)),
        scratch_(whole(product_->workspace_bytes())) {
    const onednn::MatMulShape& m = batch.matrix;
    const std::int64_t work = std::max<std::int64_t>(m.rows * m.inner * m.columns, 1);
    slices_ =
        slice_count(batch.count(), std::max<std::int64_t>(kWork / work, 1), kMaxPartialSlices);
  }
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices_) * scratch_;
  }
  int slices(int) const override { return slices_; }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const onednn::MatMulShape& m = batch_.matrix;
    const SliceRange part = slice_range(batch_.count(), slices_, slice);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const void* const operands[] = {
          static_cast<const float*>(inputs[0]) + batch_.x_of[at] * m.rows * m.inner,
          static_cast<const float*>(inputs[1]) + batch_.y_of[at] * m.inner * m.columns};
      void* const results[] = {static_cast<float*>(outputs[0]) + i * m.rows * m.columns};
      std::byte* scratch = workspace + static_cast<std::size_t>(slice) * scratch_;
      for (int phase = 0; phase < product_->phases(); ++phase) {
        for (int k = 0; k < product_->slices(phase); ++k) {
          product_->run(phase, k, operands, results, scratch);
        }
      }
    }
  }

 private:
  static constexpr std::int64_t kWork = 1 << 18;  // multiply-adds worth a slice
  static std::size_t whole(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

  BatchProduct batch_;
  std::unique_ptr<CpuKernel> product_;
  std::size_t scratch_;
  int slices_ = 1;
};

/// The matrix of an operand for each matrix of the result.
std::vector<std::int64_t> batch_indices(const Shape& operand,
                                        const std::vector<std::int64_t>& out) {
  std::vector<std::int64_t> indices{0};
  const std::size_t own = operand.rank() - 2;
  std::vector<std::int64_t> strides(out.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = own; i-- > 0;) {
    if (operand.size(i) != 1) strides[out.size() - own + i] = stride;
    stride *= operand.size(i);
  }
  for (std::size_t d = 0; d < out.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(indices.size() * static_cast<std::size_t>(out[d]));
    for (const std::int64_t before : indices) {
      for (std::int64_t i = 0; i < out[d]; ++i) next.push_back(before + i * strides[d]);
    }
    indices = std::move(next);
  }
  return indices;
}

}  // namespace

BatchProduct BatchProduct::of(const Shape& x, const Shape& y, bool adjoint_x, bool adjoint_y) {
  const std::size_t rank = std::max(x.rank(), y.rank()) - 2;
  std::vector<std::int64_t> out(rank, 1);
  for (const Shape* operand : {&x, &y}) {
    const std::size_t own = operand->rank() - 2;
    for (std::size_t i = 0; i < own; ++i) {
      if (operand->size(i) != 1) out[rank - own + i] = operand->size(i);
    }
  }
  const auto from_end = [](const Shape& s, std::size_t i) { return s.size(s.rank() - i); };
  return {.matrix = {.rows = from_end(x, adjoint_x ? 1 : 2),
                     .inner = from_end(x, adjoint_x ? 2 : 1),
                     .columns = from_end(y, adjoint_y ? 2 : 1),
                     .transpose_a = adjoint_x,
                     .transpose_b = adjoint_y},
          .x_of = batch_indices(x, out),
          .y_of = batch_indices(y, out)};
}

std::unique_ptr<CpuKernel> make_batch_product(const BatchProduct& batch) {
  const std::int64_t count = batch.count();
  bool is_one_product = !batch.matrix.transpose_a;  // rows of all x, times one y
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    is_one_product = is_one_product && batch.x_of[at] == i && batch.y_of[at] == 0;
  }
  if (is_one_product || count == 1) {
    onednn::MatMulShape whole = batch.matrix;
    whole.rows *= count;
    return onednn::make_matmul(whole);
  }
  return std::make_unique<BatchProductKernel>(batch);
}

}  // namespace towerflow
