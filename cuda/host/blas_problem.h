#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <vector>

#include "cuda/host/blas_attributes.h"
#include "cuda/host/number.h"
#include "cuda/host/strided.h"

namespace towerflow::cuda::host {

/// A matrix as its layout describes it; strides are in elements.
struct BlasMatrix {
  Number number = Number::f32;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 1, col_stride = 0, batch_stride = 0;
  std::int64_t batches = 1;

  std::vector<Extent> extents() const;
  std::size_t bytes() const;
};

/// What cublasLtMatmul is asked to compute, once all descriptors agree:
/// d = epilogue(alpha op(a) op(b) + beta c), for each of the batches.
struct BlasProblem {
  BlasMatrix a, b, c, d;
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  bool scalars_on_device = false;
  bool single_scalars = true;  ///< alpha and beta are float, otherwise double
  bool tf32 = false;           ///< inputs are rounded to TF32
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int64_t bias_batch_stride = 0;
  void* aux = nullptr;
  std::int64_t aux_ld = 0, aux_batch_stride = 0;  ///< in bits

  bool has(std::uint32_t flag) const { return (epilogue & flag) == flag; }
  bool reads_bias() const { return has(CUBLASLT_EPILOGUE_BIAS); }
  /// 0 if the epilogue has no gradient of a bias.
  std::int64_t bias_gradient_size() const;
  bool writes_mask() const { return has(CUBLASLT_EPILOGUE_RELU_AUX); }
  bool reads_mask() const { return has(CUBLASLT_EPILOGUE_DRELU); }
  /// What an algorithm is chosen for: it serves no other problem.
  std::uint64_t kind() const;
};

/// Returns CUBLAS_STATUS_INVALID_VALUE if the descriptors contradict each other, and
/// CUBLAS_STATUS_NOT_SUPPORTED if no algorithm does what they ask for.
cublasStatus_t resolve(const BlasAttributes& operation, const BlasAttributes& a,
                       const BlasAttributes& b, const BlasAttributes& c, const BlasAttributes& d,
                       BlasProblem& problem);

/// The addresses and scalars of one call.
struct BlasCall {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
  double alpha = 1, beta = 0;                          ///< unless they are on the device
  const void *alpha_at = nullptr, *beta_at = nullptr;  ///< if they are on the device
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  /// The alignment of a, b, c and d on which the algorithm relies.
  std::array<std::size_t, 4> alignment{};
};

std::vector<Operand> operands_of(const BlasProblem& problem, const BlasCall& call);

/// Computes; runs on the thread of the stream.
cudaError_t run_product(const BlasProblem& problem, const BlasCall& call);

}  // namespace towerflow::cuda::host
