// The arithmetic of cublasLtMatmul. Matrices are read into doubles with rows together, so that one
// product serves all layouts and transpositions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "cuda/host/blas_problem.h"
#include "cuda/host/coverage.h"
#include "cuda/host/product.h"

namespace towerflow::cuda::host {
namespace {

using Doubles = std::vector<double>;

std::size_t count_of(std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(rows * cols);
}

const std::byte* at(const void* base, std::int64_t elements, Number number) {
  return static_cast<const std::byte*>(host_address(base)) +
         elements * static_cast<std::int64_t>(size_of(number));
}

/// Returns op(matrix) of one batch by row.
Doubles read(const BlasMatrix& matrix, const void* base, std::int64_t batch, bool transpose) {
  const std::int64_t rows = transpose ? matrix.cols : matrix.rows;
  const std::int64_t cols = transpose ? matrix.rows : matrix.cols;
  const std::int64_t row_stride = transpose ? matrix.col_stride : matrix.row_stride;
  const std::int64_t col_stride = transpose ? matrix.row_stride : matrix.col_stride;
  Doubles values(count_of(rows, cols));
  for (std::int64_t i = 0; i < rows; ++i) {
    load(matrix.number, at(base, batch * matrix.batch_stride + i * row_stride, matrix.number),
         col_stride, cols, values.data() + i * cols);
  }
  return values;
}

Doubles read_vector(Number number, const void* base, std::int64_t from, std::int64_t count) {
  Doubles values(static_cast<std::size_t>(count));
  load(number, at(base, from, number), 1, count, values.data());
  return values;
}

void write_vector(Number number, void* base, std::int64_t from, const Doubles& values) {
  store(number, const_cast<std::byte*>(at(base, from, number)), 1,
        static_cast<std::int64_t>(values.size()), values.data());
}

double read_scalar(bool single, const void* from) {
  double value = 0;
  load(single ? Number::f32 : Number::f64, static_cast<const std::byte*>(host_address(from)), 1, 1,
       &value);
  return value;
}

double gelu(double x) {
  // The library approximates by the hyperbolic tangent.
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

class Batch {
 public:
  Batch(const BlasProblem& problem, const BlasCall& call, std::int64_t index)
      : p_(problem), call_(call), index_(index) {}

  void run(double alpha, double beta) {
    Doubles a = read(p_.a, call_.a, index_, p_.transpose_a);
    Doubles b = read(p_.b, call_.b, index_, p_.transpose_b);
    if (p_.tf32) {
      std::transform(a.begin(), a.end(), a.begin(), round_to_tf32);
      std::transform(b.begin(), b.end(), b.begin(), round_to_tf32);
    }
    d_.assign(count_of(p_.m, p_.n), 0);
    multiply_add(p_.m, p_.n, p_.k, {a.data(), p_.k, 1}, b.data(), p_.n, d_.data(), p_.n);
    for (double& value : d_) value *= alpha;
    if (beta != 0) {
      const Doubles c = read(p_.c, call_.c, index_, false);
      for (std::size_t i = 0; i < d_.size(); ++i) d_[i] += beta * c[i];
    }
    apply_epilogue();
    if (p_.bias_gradient_size() != 0) write_bias_gradient(a, b);
    for (std::int64_t i = 0; i < p_.m; ++i) {
      const std::int64_t offset = index_ * p_.d.batch_stride + i * p_.d.row_stride;
      store(p_.d.number, const_cast<std::byte*>(at(call_.d, offset, p_.d.number)), p_.d.col_stride,
            p_.n, d_.data() + i * p_.n);
    }
  }

 private:
  void apply_epilogue() {
    count_epilogue(p_.epilogue);
    if (p_.reads_bias()) {
      const Doubles bias = read_vector(p_.d.number, p_.bias, index_ * p_.bias_batch_stride, p_.m);
      for (std::size_t i = 0; i < d_.size(); ++i) d_[i] += bias[i / static_cast<std::size_t>(p_.n)];
    }
    if (p_.has(CUBLASLT_EPILOGUE_GELU)) {
      std::transform(d_.begin(), d_.end(), d_.begin(), gelu);
    }
    if (p_.writes_mask()) write_mask();
    if (p_.has(CUBLASLT_EPILOGUE_RELU)) {
      for (double& value : d_) value = value < 0 ? 0 : value;  // keeps NaN
    }
    if (p_.reads_mask()) read_mask();
  }

  /// Calls `f` with each element of the result and the byte and bit of the mask that belong to it.
  template <typename F>
  void for_each_mask_bit(const F& f) {
    auto* const mask =
        static_cast<std::uint8_t*>(host_address(p_.aux)) + index_ * p_.aux_batch_stride / 8;
    for (std::int64_t j = 0; j < p_.n; ++j) {
      for (std::int64_t i = 0; i < p_.m; ++i) {
        const std::int64_t bit = j * p_.aux_ld + i;
        f(d_[static_cast<std::size_t>(i * p_.n + j)], mask[bit / 8],
          static_cast<std::uint8_t>(1U << (bit % 8)));
      }
    }
  }

  void write_mask() {
    for_each_mask_bit([](double value, std::uint8_t& byte, std::uint8_t bit) {
      byte = static_cast<std::uint8_t>(value > 0 ? byte | bit : byte & ~bit);
    });
  }

  void read_mask() {
    for_each_mask_bit([](double& value, std::uint8_t byte, std::uint8_t bit) {
      if ((byte & bit) == 0) value = 0;
    });
  }

  void write_bias_gradient(const Doubles& a, const Doubles& b) {
    Doubles sums(static_cast<std::size_t>(p_.bias_gradient_size()), 0);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(sums.size()); ++i) {
      double& sum = sums[static_cast<std::size_t>(i)];
      if (p_.epilogue == CUBLASLT_EPILOGUE_BGRADA) {
        for (std::int64_t t = 0; t < p_.k; ++t) sum += a[static_cast<std::size_t>(i * p_.k + t)];
      } else if (p_.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
        for (std::int64_t t = 0; t < p_.k; ++t) sum += b[static_cast<std::size_t>(t * p_.n + i)];
      } else {
        for (std::int64_t j = 0; j < p_.n; ++j) sum += d_[static_cast<std::size_t>(i * p_.n + j)];
      }
    }
    write_vector(p_.d.number, p_.bias, index_ * p_.bias_batch_stride, sums);
  }

  const BlasProblem& p_;
  const BlasCall& call_;
  const std::int64_t index_;
  Doubles d_;
};

std::size_t scalar_bytes(const BlasProblem& p) { return p.single_scalars ? 4 : 8; }

std::vector<Extent> vector_extents(const BlasProblem& p, std::int64_t size) {
  const auto element = static_cast<std::int64_t>(size_of(p.d.number));
  return {{size, element}, {p.d.batches, p.bias_batch_stride * element}};
}

/// A column of the mask covers whole bytes.
std::vector<Extent> mask_extents(const BlasProblem& p) {
  return {{(p.m + 7) / 8, 1}, {p.n, p.aux_ld / 8}, {p.d.batches, p.aux_batch_stride / 8}};
}

cudaError_t check_call(const BlasProblem& p, const BlasCall& call, bool reads_c) {
  struct Part {
    const void* at;
    std::size_t bytes, alignment;
  };
  std::vector<Part> parts = {{call.a, p.a.bytes(), call.alignment[0]},
                             {call.b, p.b.bytes(), call.alignment[1]},
                             {call.d, p.d.bytes(), call.alignment[3]}};
  if (reads_c) parts.push_back({call.c, p.c.bytes(), call.alignment[2]});
  const std::int64_t vector = p.reads_bias() ? p.m : p.bias_gradient_size();
  if (vector != 0) {
    const std::size_t element = size_of(p.d.number);
    parts.push_back({p.bias, hull_bytes(element, vector_extents(p, vector)), element});
  }
  if (p.aux != nullptr) parts.push_back({p.aux, hull_bytes(1, mask_extents(p)), 16});
  if (call.workspace_bytes != 0) parts.push_back({call.workspace, call.workspace_bytes, 256});
  for (const Part& part : parts) {
    const cudaError_t status = check_access(part.at, part.bytes, part.alignment);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace

std::vector<Operand> operands_of(const BlasProblem& p, const BlasCall& call) {
  std::vector<Operand> operands;
  append_operands(operands, call.a, size_of(p.a.number), p.a.extents(), false);
  append_operands(operands, call.b, size_of(p.b.number), p.b.extents(), false);
  if (p.scalars_on_device) {
    operands.push_back({call.alpha_at, scalar_bytes(p), false});
    operands.push_back({call.beta_at, scalar_bytes(p), false});
  }
  if (call.c != nullptr && (p.scalars_on_device || call.beta != 0)) {
    append_operands(operands, call.c, size_of(p.c.number), p.c.extents(), false);
  }
  append_operands(operands, call.d, size_of(p.d.number), p.d.extents(), true);
  const std::int64_t vector = p.reads_bias() ? p.m : p.bias_gradient_size();
  if (vector != 0) {
    append_operands(operands, p.bias, size_of(p.d.number), vector_extents(p, vector),
                    !p.reads_bias());
  }
  if (p.aux != nullptr) append_operands(operands, p.aux, 1, mask_extents(p), p.writes_mask());
  if (call.workspace_bytes != 0) operands.push_back({call.workspace, call.workspace_bytes, true});
  return operands;
}

cudaError_t run_product(const BlasProblem& problem, const BlasCall& call) {
  double alpha = call.alpha, beta = call.beta;
  if (problem.scalars_on_device) {
    const std::size_t bytes = scalar_bytes(problem);
    for (const void* scalar : {call.alpha_at, call.beta_at}) {
      const cudaError_t status = check_access(scalar, bytes, bytes);
      if (status != cudaSuccess) return status;
    }
    alpha = read_scalar(problem.single_scalars, call.alpha_at);
    beta = read_scalar(problem.single_scalars, call.beta_at);
  }
  const cudaError_t status = check_call(problem, call, beta != 0);
  if (status != cudaSuccess) return status;
  // Whoever keeps data in a workspace finds it destroyed.
  if (call.workspace_bytes != 0) {
    std::memset(host_address(call.workspace), 0xFF, call.workspace_bytes);
  }
  for (std::int64_t i = 0; i < problem.d.batches; ++i) Batch(problem, call, i).run(alpha, beta);
  return cudaSuccess;
}

}  // namespace towerflow::cuda::host
