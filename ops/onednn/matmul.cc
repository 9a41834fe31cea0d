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

Matrix left(const MatMulShape& s) { return dense(s.rows, s.inner, s.transpose_a); }
Matrix right(const MatMulShape& s) { return dense(s.inner, s.columns, s.transpose_b); }

int product_slices(const MatMulShape& s) {
  const double products =
      static_cast<double>(s.rows) * static_cast<double>(s.inner) * static_cast<double>(s.columns);
  if (products < 2e6) return 1;
  const int by_work = products < 64e6 ? 2 : products < 256e6 ? 4 : 8;
  const std::int64_t longer = std::max(s.rows, s.columns);
  return slice_count(longer, 64, by_work);
}

Primitive make_primitive(const Matrix& a, const Matrix& b, const Matrix& c, bool adds) {
  return prepare("matmul", [&] {
    dnnl::primitive_attr attr = caller_scratchpad();
    if (adds) {
      dnnl::post_ops sum;
      sum.append_sum();
      attr.set_post_ops(sum);
    }
    const auto pd = matmul_pd(cpu_engine(), a.desc(), b.desc(), c.desc(), attr);
    return Primitive(
        dnnl::matmul(pd), pd.scratchpad_desc(),
        {{DNNL_ARG_SRC, a.desc()}, {DNNL_ARG_WEIGHTS, b.desc()}, {DNNL_ARG_DST, c.desc()}}, 1);
  });
}

/// Computes c = a b, or c += a b. oneDNN packs parts of its operands into memory, which it
/// allocates before it writes to c. If there is none, the product is computed without it, slowly: a
/// step must not fail after it has assigned some variables.
class Product {
 public:
  Product(const Matrix& a, const Matrix& b, const Matrix& c, bool adds = false)
      : a_(a), b_(b), c_(c), adds_(adds), primitive_(make_primitive(a, b, c, adds)) {}

  /// Returns whether the library computes it with its code for dense operands, which is faster.
  bool is_dense() const { return !primitive_.allocates_memory(); }
  std::size_t scratch_bytes() const { return whole_lines(primitive_.scratch_bytes()); }
  void run(const float* a, const float* b, float* c, std::byte* scratch) const {
    void* const pointers[] = {const_cast<float*>(a), const_cast<float*>(b), c};
    if (!primitive_.try_run(pointers, scratch)) multiply(a, b, c);
  }

 private:
  void multiply(const float* a, const float* b, float* c) const {
    for (std::int64_t row = 0; row < c_.rows; ++row) {
      float* sums = c + row * c_.row_stride;
      for (std::int64_t j = 0; j < c_.columns && !adds_; ++j) sums[j * c_.column_stride] = 0.0f;
      for (std::int64_t k = 0; k < a_.columns; ++k) {
        const float factor = a[row * a_.row_stride + k * a_.column_stride];
        const float* others = b + k * b_.row_stride;
        for (std::int64_t j = 0; j < c_.columns; ++j)
          sums[j * c_.column_stride] += factor * others[j * b_.column_stride];
      }
    }
  }

  Matrix a_, b_, c_;
  bool adds_;
  Primitive primitive_;
};

/// Part of a product, which may lie outside of c.
struct ProductPart {
  SliceRange rows, columns;
  const float* values;
  std::int64_t row_stride;
};

/// Calls `what(values, at, count)` for a part: `count` floats of it that follow one another in c
/// too, `at` the first of them in c.
template <class What>
void for_each_run(const MatMulShape& shape, const ProductPart& part, const What& what) {
  const std::int64_t width = part.columns.size();
  const bool at_once = width == shape.columns && part.row_stride == width;
  const std::int64_t rows = at_once ? part.rows.size() : 1;
  for (std::int64_t row = 0; row < part.rows.size(); row += rows) {
    const std::int64_t at = (part.rows.begin + row) * shape.columns + part.columns.begin;
    what(part.values + row * part.row_stride, at, rows * width);
  }
}

// Copies the addend to part of c, so that the product can be added to it. Does nothing in place.
void copy_addend(const MatMulShape& shape, const ProductPart& part, const void* const* inputs,
                 float* c) {
  const auto* addend = static_cast<const float*>(inputs[2]);
  if (addend == c) return;
  for_each_run(shape, part, [&](const float*, std::int64_t at, std::int64_t count) {
    std::copy_n(addend + at, count, c + at);
  });
}

// Writes a part to c right after a slice has computed it, and applies bias and relu. Adds the
// addend too if the part is outside of c; one inside of c was added to the addend.
void finish(const MatMulShape& shape, const MatMulOptions& options, const ProductPart& part,
            const void* const* inputs, float* c) {
  const bool is_in_c = part.values == c + part.rows.begin * shape.columns + part.columns.begin;
  const bool adds = options.addend && !is_in_c;
  if (part.rows.size() == 0 || part.columns.size() == 0) return;
  if (is_in_c && !options.bias && !options.relu) return;
  const simd::Loops& loops = simd::loops();
  const auto sum = loops.binary[static_cast<int>(simd::Binary::add)];
  const auto add_row = options.relu ? loops.add_row_relu
                                    : loops.binary_row_right[static_cast<int>(simd::Binary::add)];
  const auto* third = options.bias || adds ? static_cast<const float*>(inputs[2]) : nullptr;
  const std::int64_t width = part.columns.size();
  for_each_run(shape, part, [&](const float* values, std::int64_t at, std::int64_t count) {
    if (adds) sum(values, third + at, c + at, count);
    if (options.bias) {
      add_row(values, third + part.columns.begin, c + at, count / width, width);
    } else if (options.relu) {
      loops.relu(adds ? c + at : values, c + at, count);
    } else if (!adds) {
      std::copy_n(values, count, c + at);
    }
  });
}

// A kernel of one phase whose slices compute separate parts of c.
class InSlices : public CpuKernel {
 public:
  InSlices(const MatMulShape& s, const MatMulOptions& options)
      : shape_(s), options_(options), slices_(product_slices(s)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices_) * slice_bytes_;
  }
  int slices(int) const override { return slices_; }
  bool may_fail() const override { return false; }

 protected:
  SliceRange range_of(std::int64_t side, int slice) const {
    return slice_range(side, slices_, slice, kSliceAlignment);
  }

  MatMulShape shape_;
  MatMulOptions options_;
  int slices_;
  std::vector<Product> products_;  // of each slice
  std::size_t slice_bytes_ = 0;
};

// Each slice is a separate product, over part of the rows of c.
class ByRows final : public InSlices {
 public:
  ByRows(const MatMulShape& s, const MatMulOptions& options) : InSlices(s, options), a_(left(s)) {
    for (int slice = 0; slice < slices_; ++slice) {
      const std::int64_t rows = range(slice).size();
      products_.emplace_back(a_.row_part(rows), right(s), dense(rows, s.columns, false),
                             options.addend);
      slice_bytes_ = std::max(slice_bytes_, products_.back().scratch_bytes());
    }
  }

  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const SliceRange rows = range(slice);
    auto* c = static_cast<float*>(outputs[0]);
    float* product = c + rows.begin * shape_.columns;
    const ProductPart part{rows, {0, shape_.columns}, product, shape_.columns};
    const auto at = static_cast<std::size_t>(slice);
    if (options_.addend) copy_addend(shape_, part, inputs, c);
    products_[at].run(static_cast<const float*>(inputs[0]) + rows.begin * a_.row_stride,
                      static_cast<const float*>(inputs[1]), product, workspace + at * slice_bytes_);
    finish(shape_, options_, part, inputs, c);
  }

 private:
  SliceRange range(int slice) const { return range_of(shape_.rows, slice); }

  Matrix a_;
};

// Each slice computes part of the columns of c. These are not dense, and oneDNN computes them with
// slower code than dense matrices if b is transposed (83 against 106 GFLOP/s for 50 x 512 x 256;
// oneDNN 2.6.3, AVX-512). There a slice computes dense columns and copies them to c.
class ByColumns final : public InSlices {
 public:
  ByColumns(const MatMulShape& s, const MatMulOptions& options)
      : InSlices(s, options), b_(right(s)) {
    copies_ = s.transpose_b && slices_ > 1 && make_products(true);
    if (!copies_) make_products(false);
    for (const Product& product : products_) {
      scratch_bytes_ = std::max(scratch_bytes_, product.scratch_bytes());
    }
    const auto copied = static_cast<std::size_t>(s.rows * range(0).size());
    slice_bytes_ = scratch_bytes_ + (copies_ ? whole_lines(copied * sizeof(float)) : 0);
  }

  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const SliceRange columns = range(slice);
    const auto at = static_cast<std::size_t>(slice);
    auto* c = static_cast<float*>(outputs[0]);
    std::byte* scratch = workspace + at * slice_bytes_;
    float* product =
        copies_ ? reinterpret_cast<float*>(scratch + scratch_bytes_) : c + columns.begin;
    const std::int64_t row_stride = copies_ ? columns.size() : shape_.columns;
    const ProductPart part{{0, shape_.rows}, columns, product, row_stride};
    if (options_.addend && !copies_) copy_addend(shape_, part, inputs, c);
    products_[at].run(static_cast<const float*>(inputs[0]),
                      static_cast<const float*>(inputs[1]) + columns.begin * b_.column_stride,
                      product, scratch);
    finish(shape_, options_, part, inputs, c);
  }

 private:
  SliceRange range(int slice) const { return range_of(shape_.columns, slice); }

  /// Returns whether the library uses its code for dense operands in all slices.
  bool make_products(bool dense_c) {
    products_.clear();
    for (int slice = 0; slice < slices_; ++slice) {
      const std::int64_t width = range(slice).size();
      const Matrix c = dense(shape_.rows, dense_c ? width : shape_.columns, false);
      products_.emplace_back(left(shape_), b_.column_part(width), c.column_part(width),
                             options_.addend && !dense_c);
    }
    return std::all_of(products_.begin(), products_.end(),
                       [](const Product& product) { return product.is_dense(); });
  }

  Matrix b_;
  bool copies_ = false;
  std::size_t scratch_bytes_ = 0;
};

// c = a b' for a wide c and a large b stored as [columns, inner]: the data gradient of a fully
// connected layer. The library is slower on it than on c' = b a', whose operands it reads along
// their rows, and transposing the two small matrices costs little (73 against 101 GFLOP/s for 64 x
// 1024 x 1568; oneDNN 2.6.3, AVX-512). It is slow where the rows of c do not fill its registers: 49
// GFLOP/s for 50 rows.
//
// Phase 0 writes a' to the workspace; phase 1 computes part of the columns of c and transposes it.
class TransposedProduct final : public InSlices {
 public:
  static bool fits(const MatMulShape& s) {
    return s.transpose_b && !s.transpose_a && s.rows % 16 == 0 && s.inner >= 64 &&
           s.columns >= 4 * s.rows && product_slices(s) > 1;
  }

  TransposedProduct(const MatMulShape& s, const MatMulOptions& options) : InSlices(s, options) {
    const Matrix b = dense(s.columns, s.inner, false);
    const Matrix a = dense(s.inner, s.rows, false);
    for (int slice = 0; slice < slices_; ++slice) {
      const std::int64_t size = range(slice).size();
      products_.emplace_back(b.row_part(size), a, dense(size, s.rows, false));
      scratch_bytes_ = std::max(scratch_bytes_, products_.back().scratch_bytes());
    }
    turned_bytes_ = floats(s.inner * s.rows);
    slice_bytes_ = scratch_bytes_ + floats(range(0).size() * s.rows);
  }

  std::size_t workspace_bytes() const override {
    return turned_bytes_ + InSlices::workspace_bytes();
  }
  int phases() const override { return 2; }

  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    float* turned = reinterpret_cast<float*>(workspace);
    if (phase == 0) {
      const SliceRange part = range_of(shape_.inner, slice);
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
    auto* c = static_cast<float*>(outputs[0]);
    simd::loops().transpose(product, shape_.rows, c + part.begin, shape_.columns, part.size(),
                            shape_.rows);
    finish(shape_, options_, {{0, shape_.rows}, part, c + part.begin, shape_.columns}, inputs, c);
  }

 private:
  static std::size_t floats(std::int64_t count) {
    return whole_lines(static_cast<std::size_t>(count) * sizeof(float));
  }
  SliceRange range(int slice) const { return range_of(shape_.columns, slice); }

  std::size_t scratch_bytes_ = 0;
  std::size_t turned_bytes_ = 0;
};

// A product whose sums are empty.
class Zeros final : public CpuKernel {
 public:
  Zeros(const MatMulShape& s, const MatMulOptions& options) : shape_(s), options_(options) {}
  bool may_fail() const override { return false; }
  void run(int, int, const void* const* inputs, void* const* outputs, std::byte*) const override {
    auto* c = static_cast<float*>(outputs[0]);
    const ProductPart all{{0, shape_.rows}, {0, shape_.columns}, c, shape_.columns};
    if (options_.addend) {
      copy_addend(shape_, all, inputs, c);
    } else {
      std::fill_n(c, shape_.rows * shape_.columns, 0.0f);
    }
    finish(shape_, options_, all, inputs, c);
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
  if (!options.addend && TransposedProduct::fits(shape))
    return std::make_unique<TransposedProduct>(shape, options);
  if (shape.rows > shape.columns) return std::make_unique<ByRows>(shape, options);
  return std::make_unique<ByColumns>(shape, options);
}

}  // namespace towerflow::onednn
