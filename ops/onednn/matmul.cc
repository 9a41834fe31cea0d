#include "ops/onednn/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/graph/error.h"
#include "ops/onednn/primitive.h"
#include "ops/simd/loops.h"

namespace towerflow::onednn {
namespace {

using dnnl::memory;

constexpr std::int64_t kSliceAlignment = 16;  // slice boundaries are multiples of this, in elements

// A rows x columns matrix whose element (r, c) is at r * row_stride + c * column_stride.
struct Matrix {
  std::int64_t rows, columns, row_stride, column_stride;

  memory::desc desc() const {
    return {{rows, columns}, memory::data_type::f32, {row_stride, column_stride}};
  }
  Matrix row_part(std::int64_t count) const { return {count, columns, row_stride, column_stride}; }
  Matrix column_part(std::int64_t count) const { return {rows, count, row_stride, column_stride}; }
};

Matrix dense(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Matrix{rows, columns, 1, rows} : Matrix{rows, columns, columns, 1};
}

int product_slices(const MatMulShape& s) {
  const double products =
      static_cast<double>(s.rows) * static_cast<double>(s.inner) * static_cast<double>(s.columns);
  if (products < 2e6) return 1;
  const int by_work = products < 64e6 ? 2 : products < 256e6 ? 4 : 8;
  const std::int64_t longer = std::max(s.rows, s.columns);
  return slice_count(longer, 64, by_work);
}

Primitive make_primitive(const Matrix& a, const Matrix& b, const Matrix& c) {
  return prepare("matmul", [&] {
    const auto pd = matmul_pd(cpu_engine(), a.desc(), b.desc(), c.desc(), caller_scratchpad());
    return Primitive(
        dnnl::matmul(pd), pd.scratchpad_desc(),
        {{DNNL_ARG_SRC, a.desc()}, {DNNL_ARG_WEIGHTS, b.desc()}, {DNNL_ARG_DST, c.desc()}}, 1);
  });
}

/// Computes c = a b. oneDNN packs parts of its operands into memory that it allocates. If there is
/// none, the product is computed without it, slowly: a step must not fail after it has assigned
/// some variables.
class Product {
 public:
  Product(const Matrix& a, const Matrix& b, const Matrix& c)
      : a_(a), b_(b), c_(c), primitive_(make_primitive(a, b, c)) {}

  std::size_t scratch_bytes() const { return primitive_.scratch_bytes(); }
  void run(const float* a, const float* b, float* c, std::byte* scratch) const {
    void* const pointers[] = {const_cast<float*>(a), const_cast<float*>(b), c};
    if (!primitive_.try_run(pointers, scratch)) multiply(a, b, c);
  }

 private:
  void multiply(const float* a, const float* b, float* c) const {
    for (std::int64_t row = 0; row < c_.rows; ++row) {
      float* sums = c + row * c_.row_stride;
      for (std::int64_t j = 0; j < c_.columns; ++j) sums[j * c_.column_stride] = 0.0f;
      for (std::int64_t k = 0; k < a_.columns; ++k) {
        const float factor = a[row * a_.row_stride + k * a_.column_stride];
        const float* others = b + k * b_.row_stride;
        for (std::int64_t j = 0; j < c_.columns; ++j)
          sums[j * c_.column_stride] += factor * others[j * b_.column_stride];
      }
    }
  }

  Matrix a_, b_, c_;
  Primitive primitive_;
};

// Applies bias, addend and relu to the part `rows` x `columns` of c, right after a slice has
// computed it.
void finish(const MatMulShape& shape, const MatMulOptions& options, SliceRange rows,
            SliceRange columns, const void* const* inputs, void* const* outputs) {
  if (!options.bias && !options.addend && !options.relu) return;
  const simd::Loops& loops = simd::loops();
  const auto sum = loops.binary[static_cast<int>(simd::Binary::add)];
  const bool whole_rows = columns.size() == shape.columns;
  const std::int64_t width = columns.size();
  const float* bias = options.bias ? static_cast<const float*>(inputs[2]) + columns.begin : nullptr;
  const auto add = options.relu ? loops.add_row_relu
                                : loops.binary_row_right[static_cast<int>(simd::Binary::add)];
  for (std::int64_t row = rows.begin; row < rows.end; row += whole_rows ? rows.size() : 1) {
    const std::int64_t count = whole_rows ? rows.size() : 1;
    const std::int64_t at = row * shape.columns + columns.begin;
    float* c = static_cast<float*>(outputs[0]) + at;
    if (options.addend) sum(c, static_cast<const float*>(inputs[2]) + at, c, count * width);
    if (options.bias) {
      add(c, bias, c, count, width);
    } else if (options.relu) {
      loops.relu(c, c, count * width);
    }
  }
}

// Each slice is a separate product, over part of the rows or of the columns of c.
class Direct final : public CpuKernel {
 public:
  Direct(const MatMulShape& s, const MatMulOptions& options)
      : shape_(s),
        options_(options),
        a_(dense(s.rows, s.inner, s.transpose_a)),
        b_(dense(s.inner, s.columns, s.transpose_b)),
        c_(dense(s.rows, s.columns, false)),
        by_rows_(s.rows > s.columns),
        slices_(product_slices(s)) {
    for (int slice = 0; slice < slices_; ++slice) {
      const std::int64_t size = range(slice).size();
      if (by_rows_)
        products_.emplace_back(a_.row_part(size), b_, c_.row_part(size));
      else
        products_.emplace_back(a_, b_.column_part(size), c_.column_part(size));
      slice_bytes_ = std::max(slice_bytes_, whole_lines(products_.back().scratch_bytes()));
    }
  }

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices_) * slice_bytes_;
  }
  int slices(int) const override { return slices_; }

  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const std::int64_t first = range(slice).begin;
    const float* a = static_cast<const float*>(inputs[0]);
    const float* b = static_cast<const float*>(inputs[1]);
    float* c = static_cast<float*>(outputs[0]);
    if (by_rows_) {
      a += first * a_.row_stride;
      c += first * c_.row_stride;
    } else {
      b += first * b_.column_stride;
      c += first;
    }
    products_[static_cast<std::size_t>(slice)].run(
        a, b, c, workspace + static_cast<std::size_t>(slice) * slice_bytes_);
    const SliceRange part = range(slice);
    finish(shape_, options_, by_rows_ ? part : SliceRange{0, shape_.rows},
           by_rows_ ? SliceRange{0, shape_.columns} : part, inputs, outputs);
  }

 private:
  SliceRange range(int slice) const {
    return slice_range(by_rows_ ? c_.rows : c_.columns, slices_, slice, kSliceAlignment);
  }

  MatMulShape shape_;
  MatMulOptions options_;
  Matrix a_, b_, c_;
  bool by_rows_;
  int slices_;
  std::vector<Product> products_;
  std::size_t slice_bytes_ = 0;
};

// c = a b' for a wide c and a large b stored as [columns, inner]: the data gradient of a fully
// connected layer. The library is a third slower on it than on c' = b a', whose operands it reads
// along their rows, and transposing the two small matrices costs little (74 against 112 GFLOP/s for
// 64 x 1024 x 1568; oneDNN 2.6.3, AVX-512).
//
// Phase 0 writes a' to the workspace; phase 1 computes part of the columns of c and transposes it.
class TransposedProduct final : public CpuKernel {
 public:
  static bool fits(const MatMulShape& s) {
    return s.transpose_b && !s.transpose_a && s.rows >= 16 && s.inner >= 64 &&
           s.columns >= 4 * s.rows && product_slices(s) > 1;
  }

  TransposedProduct(const MatMulShape& s, const MatMulOptions& options)
      : shape_(s), options_(options), slices_(product_slices(s)) {
    const Matrix b = dense(s.columns, s.inner, false);
    const Matrix a = dense(s.inner, s.rows, false);
    for (int slice = 0; slice < slices_; ++slice) {
      const std::int64_t size = range(slice).size();
      products_.emplace_back(b.row_part(size), a, dense(size, s.rows, false));
      scratch_bytes_ = std::max(scratch_bytes_, whole_lines(products_.back().scratch_bytes()));
    }
    turned_bytes_ = floats(s.inner * s.rows);
    slice_bytes_ = scratch_bytes_ + floats(range(0).size() * s.rows);
  }

  std::size_t workspace_bytes() const override {
    return turned_bytes_ + static_cast<std::size_t>(slices_) * slice_bytes_;
  }
  int phases() const override { return 2; }
  int slices(int) const override { return slices_; }

  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    float* turned = reinterpret_cast<float*>(workspace);
    if (phase == 0) {
      const SliceRange part = slice_range(shape_.inner, slices_, slice, kSliceAlignment);
      simd::loops().transpose(static_cast<const float*>(inputs[0]) + part.begin, shape_.inner,
                              turned + part.begin * shape_.rows, shape_.rows, shape_.rows,
                              part.size());
      return;
    }
    const SliceRange part = range(slice);
    const float* b = static_cast<const float*>(inputs[1]) + part.begin * shape_.inner;
    std::byte* scratch = workspace + turned_bytes_ + static_cast<std::size_t>(slice) * slice_bytes_;
    float* product = reinterpret_cast<float*>(scratch + scratch_bytes_);
    products_[static_cast<std::size_t>(slice)].run(b, turned, product, scratch);
    simd::loops().transpose(product, shape_.rows, static_cast<float*>(outputs[0]) + part.begin,
                            shape_.columns, part.size(), shape_.rows);
    finish(shape_, options_, {0, shape_.rows}, part, inputs, outputs);
  }

 private:
  static std::size_t floats(std::int64_t count) {
    return whole_lines(static_cast<std::size_t>(count) * sizeof(float));
  }
  SliceRange range(int slice) const {
    return slice_range(shape_.columns, slices_, slice, kSliceAlignment);
  }

  MatMulShape shape_;
  MatMulOptions options_;
  int slices_;
  std::vector<Product> products_;
  std::size_t scratch_bytes_ = 0;
  std::size_t turned_bytes_ = 0;
  std::size_t slice_bytes_ = 0;
};

// A product whose sums are empty.
class Zeros final : public CpuKernel {
 public:
  Zeros(const MatMulShape& s, const MatMulOptions& options) : shape_(s), options_(options) {}
  bool may_fail() const override { return false; }
  void run(int, int, const void* const* inputs, void* const* outputs, std::byte*) const override {
    std::fill_n(static_cast<float*>(outputs[0]), shape_.rows * shape_.columns, 0.0f);
    finish(shape_, options_, {0, shape_.rows}, {0, shape_.columns}, inputs, outputs);
  }

 private:
  MatMulShape shape_;
  MatMulOptions options_;
};

}  // namespace

std::unique_ptr<CpuKernel> make_matmul(const MatMulShape& shape, const MatMulOptions& options) {
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t size : {shape.rows, shape.inner, shape.columns})
    if (size < 0 || size > kLimit)
      throw errors::InvalidArgumentError(
          fmt::format("A matrix cannot have a side of {}; the limit is {}.", size, kLimit));
  if (shape.rows == 0 || shape.columns == 0 || shape.inner == 0)
    return std::make_unique<Zeros>(shape, options);
  if (TransposedProduct::fits(shape)) return std::make_unique<TransposedProduct>(shape, options);
  return std::make_unique<Direct>(shape, options);
}

}  // namespace towerflow::onednn
