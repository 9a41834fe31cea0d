#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>

#include "tests/cuda/libraries.h"

namespace towerflow::cuda::testing {

inline double to_double(float value) { return static_cast<double>(value); }
inline double to_double(double value) { return value; }
inline double to_double(__half value) { return static_cast<double>(__half2float(value)); }
inline double to_double(__nv_bfloat16 value) {
  return static_cast<double>(__bfloat162float(value));
}

template <typename T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, __half>) return __double2half(value);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __double2bfloat16(value);
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(value);
}

template <typename T>
constexpr cudaDataType type_of() {
  if (std::is_same_v<T, __half>) return CUDA_R_16F;
  if (std::is_same_v<T, __nv_bfloat16>) return CUDA_R_16BF;
  return std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;
}

template <typename T>
std::vector<T> random_of(std::size_t count, unsigned seed) {
  std::vector<T> values;
  for (const double value : random_values(count, seed)) values.push_back(from_double<T>(value));
  return values;
}

struct Layout {
  std::int64_t rows, cols, ld;
  bool by_row = false;
  std::int64_t batch_stride = 0;

  std::size_t index(std::int64_t i, std::int64_t j, std::int64_t batch = 0) const {
    return static_cast<std::size_t>(batch * batch_stride + (by_row ? i * ld + j : j * ld + i));
  }
};

/// One call of cublasLtMatmul. The fields are what it is told; a test may change any of them.
struct Product {
  std::int64_t m = 5, n = 7, k = 3;
  bool transpose_a = false, transpose_b = false;
  bool a_by_row = false, b_by_row = false, d_by_row = false;
  std::int64_t gap = 2;  ///< by which leading dimensions exceed the rows
  int batches = 1;
  double alpha = 1, beta = 0;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  std::uint64_t workspace_limit = 0;
  std::int64_t aux_ld = 128;
  /// Changes a descriptor before the call.
  std::function<void(cublasLtMatmulDesc_t, cublasLtMatrixLayout_t (&)[4])> change;
  std::size_t offset = 0;  ///< of a, in bytes

  Layout layout(std::int64_t rows, std::int64_t cols, bool by_row) const {
    const std::int64_t ld = (by_row ? cols : rows) + gap;
    return {rows, cols, ld, by_row, ld * (by_row ? rows : cols) + 1};
  }
  Layout a() const { return transpose_a ? layout(k, m, a_by_row) : layout(m, k, a_by_row); }
  Layout b() const { return transpose_b ? layout(n, k, b_by_row) : layout(k, n, b_by_row); }
  Layout d() const { return layout(m, n, d_by_row); }
};

struct Outcome {
  cublasStatus_t heuristic = CUBLAS_STATUS_SUCCESS, status = CUBLAS_STATUS_SUCCESS;
  cudaError_t fault = cudaSuccess;
  double error = 0;         ///< of the result
  double vector_error = 0;  ///< of the gradient of a bias
  std::size_t workspace = 0;
};

class Handle {
 public:
  Handle() { CHECK(emulation().cublasLtCreate(&handle_) == CUBLAS_STATUS_SUCCESS); }
  ~Handle() { CHECK(emulation().cublasLtDestroy(handle_) == CUBLAS_STATUS_SUCCESS); }
  operator cublasLtHandle_t() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

template <typename T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name, T value) {
  CHECK(emulation().cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof(value)) ==
        CUBLAS_STATUS_SUCCESS);
}

template <typename T>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name, T value) {
  CHECK(emulation().cublasLtMatrixLayoutSetAttribute(layout, name, &value, sizeof(value)) ==
        CUBLAS_STATUS_SUCCESS);
}

inline cublasLtMatrixLayout_t make_layout(const Layout& layout, cudaDataType type, int batches) {
  cublasLtMatrixLayout_t made = nullptr;
  CHECK(emulation().cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(layout.rows),
                                               static_cast<std::uint64_t>(layout.cols),
                                               layout.ld) == CUBLAS_STATUS_SUCCESS);
  const cublasLtOrder_t order = layout.by_row ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
  set(made, CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{order});
  set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{batches});
  set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, layout.batch_stride);
  return made;
}

inline std::size_t elements(const Layout& layout, int batches) {
  return static_cast<std::size_t>(layout.batch_stride * batches);
}

inline bool has(const Product& p, int flag) { return (p.epilogue & flag) == flag; }

/// Computes what the product should give, from the buffers' first values.
template <typename In, typename Out>
void expect(const Product& p, const std::vector<In>& a, const std::vector<In>& b,
            const std::vector<Out>& bias, const std::vector<std::uint8_t>& mask,
            std::vector<Out>& d, std::vector<double>& gradient) {
  const Layout la = p.a(), lb = p.b(), ld = p.d();
  gradient.assign(static_cast<std::size_t>(p.epilogue == CUBLASLT_EPILOGUE_BGRADB ? p.n : p.m), 0);
  for (int batch = 0; batch < p.batches; ++batch) {
    const auto a_at = [&](std::int64_t i, std::int64_t t) {
      return to_double(a[p.transpose_a ? la.index(t, i, batch) : la.index(i, t, batch)]);
    };
    const auto b_at = [&](std::int64_t t, std::int64_t j) {
      return to_double(b[p.transpose_b ? lb.index(j, t, batch) : lb.index(t, j, batch)]);
    };
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t t = 0; t < p.k; ++t) sum += a_at(i, t) * b_at(t, j);
        Out& to = d[ld.index(i, j, batch)];
        double value = p.alpha * sum + (p.beta == 0 ? 0 : p.beta * to_double(to));
        if (has(p, CUBLASLT_EPILOGUE_BIAS)) value += to_double(bias[static_cast<std::size_t>(i)]);
        if (has(p, CUBLASLT_EPILOGUE_GELU)) {
          value *= 0.5 *
                   (1 + std::tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
        }
        if (has(p, CUBLASLT_EPILOGUE_RELU)) value = std::max(value, 0.0);
        const std::int64_t bit = j * p.aux_ld + i;
        if (has(p, CUBLASLT_EPILOGUE_DRELU) &&
            (mask[static_cast<std::size_t>(bit / 8)] >> (bit % 8) & 1) == 0) {
          value = 0;
        }
        if (p.epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD)
          gradient[static_cast<std::size_t>(i)] += value;
        to = from_double<Out>(value);
      }
    }
    for (std::int64_t t = 0; t < p.k; ++t) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        if (p.epilogue == CUBLASLT_EPILOGUE_BGRADA) gradient[i] += a_at(index, t);
        if (p.epilogue == CUBLASLT_EPILOGUE_BGRADB) gradient[i] += b_at(t, index);
      }
    }
  }
}

template <typename T>
std::vector<double> doubles(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T& value : values) result.push_back(to_double(value));
  return result;
}

template <typename In, typename Out = In>
Outcome run(const Product& p) {
  using Scale = std::conditional_t<std::is_same_v<In, double>, double, float>;
  const Table& cuda = emulation();
  const Handle handle;
  const TestStream stream;
  Outcome outcome;
  DeviceArray<In> a(random_of<In>(elements(p.a(), p.batches), 1));
  DeviceArray<In> b(random_of<In>(elements(p.b(), p.batches), 2));
  DeviceArray<Out> d(random_of<Out>(elements(p.d(), p.batches), 3));
  DeviceArray<Out> bias(random_of<Out>(static_cast<std::size_t>(std::max(p.m, p.n)), 4));
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(p.aux_ld / 8 * p.n));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint8_t>(i * 37 + 5);
  DeviceArray<std::uint8_t> mask(bits);
  DeviceArray<std::uint8_t> workspace(std::size_t{1} << 20);

  cublasLtMatmulDesc_t operation = nullptr;
  CHECK(cuda.cublasLtMatmulDescCreate(&operation, p.compute, type_of<Scale>()) == 0);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{p.transpose_a});
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{p.transpose_b});
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{p.epilogue});
  set<void*>(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.get());
  set<void*>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, mask.get());
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.aux_ld);
  cublasLtMatrixLayout_t layouts[4] = {
      make_layout(p.a(), type_of<In>(), p.batches), make_layout(p.b(), type_of<In>(), p.batches),
      make_layout(p.d(), type_of<Out>(), p.batches), make_layout(p.d(), type_of<Out>(), p.batches)};
  if (p.change) p.change(operation, layouts);
  cublasLtMatmulPreference_t preference = nullptr;
  CHECK(cuda.cublasLtMatmulPreferenceCreate(&preference) == 0);
  CHECK(cuda.cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &p.workspace_limit, 8) == 0);
  cublasLtMatmulHeuristicResult_t result;
  int count = 0;
  outcome.heuristic =
      cuda.cublasLtMatmulAlgoGetHeuristic(handle, operation, layouts[0], layouts[1], layouts[2],
                                          layouts[3], preference, 1, &result, &count);
  CHECK((outcome.heuristic == CUBLAS_STATUS_SUCCESS) == (count == 1));
  if (count == 1) outcome.workspace = result.workspaceSize;
  const Scale alpha = static_cast<Scale>(p.alpha), beta = static_cast<Scale>(p.beta);
  outcome.status = cuda.cublasLtMatmul(
      handle, operation, &alpha, reinterpret_cast<const std::byte*>(a.get()) + p.offset, layouts[0],
      b.get(), layouts[1], &beta, d.get(), layouts[2], d.get(), layouts[3],
      count == 1 ? &result.algo : nullptr, workspace.get(), outcome.workspace, stream);
  outcome.fault = stream.wait();
  if (outcome.fault != cudaSuccess) restart();
  cuda.cublasLtMatmulPreferenceDestroy(preference);
  for (const auto layout : layouts) cuda.cublasLtMatrixLayoutDestroy(layout);
  cuda.cublasLtMatmulDescDestroy(operation);
  if (outcome.status != CUBLAS_STATUS_SUCCESS || outcome.fault != cudaSuccess) return outcome;

  std::vector<Out> expected = d.initial();
  std::vector<double> gradient;
  expect(p, a.initial(), b.initial(), bias.initial(), bits, expected, gradient);
  // Gaps between columns and batches are compared too: nobody may write there.
  outcome.error = largest_error(doubles(d.read()), doubles(expected));
  if (p.epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD || (p.epilogue & 768) != 0) {
    std::vector<double> sums = doubles(bias.read());
    sums.resize(gradient.size());
    outcome.vector_error = largest_error(sums, gradient);
  }
  return outcome;
}

inline void check_right(const Outcome& outcome, double tolerance) {
  CHECK(outcome.heuristic == CUBLAS_STATUS_SUCCESS);
  CHECK(outcome.status == CUBLAS_STATUS_SUCCESS);
  CHECK(outcome.fault == cudaSuccess);
  CHECK(outcome.error <= tolerance);
  CHECK(outcome.vector_error <= tolerance);
}

inline bool is_noticed(const Outcome& outcome) {
  return outcome.status != CUBLAS_STATUS_SUCCESS || outcome.fault != cudaSuccess ||
         outcome.error > 1e-2 || outcome.vector_error > 1e-2;
}

}  // namespace towerflow::cuda::testing
