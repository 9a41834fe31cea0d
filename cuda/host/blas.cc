// cuBLASLt: handles, heuristics and the call of a product.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "cuda/host/blas_descriptors.h"
#include "cuda/host/blas_problem.h"
#include "cuda/host/coverage.h"
#include "cuda/host/libraries.h"
#include "cuda/host/library_handles.h"

namespace towerflow::cuda::host {
namespace {

struct BlasContext {};

auto& contexts = *new LibraryHandles<cublasLtHandle_t, BlasContext>;

/// What cublasLtMatmulAlgo_t holds, which the library does not describe.
struct Algorithm {
  std::uint64_t mark = 0;
  std::uint64_t kind = 0;
  std::uint64_t workspace = 0;
  std::uint32_t alignment[4] = {};

  static constexpr std::uint64_t kMark = 0x746C6167'74727574;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

// What the library's algorithms for small products ask for, to have a part of the sum each.
constexpr std::uint64_t kWorkspace = 64 << 10;
// Loads of a kernel are 16 bytes wide at most.
constexpr std::uint32_t kWidestLoad = 16;

cublasStatus_t resolve_handles(cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                               cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                               cublasLtMatrixLayout_t d, BlasProblem& problem) {
  const auto found = find_operation(operation);
  const auto layout_a = find_layout(a), layout_b = find_layout(b), layout_c = find_layout(c),
             layout_d = find_layout(d);
  if (!found || !layout_a || !layout_b || !layout_c || !layout_d) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return resolve(*found, *layout_a, *layout_b, *layout_c, *layout_d, problem);
}

bool same_layout(const BlasMatrix& a, const BlasMatrix& b) {
  return a.number == b.number && a.row_stride == b.row_stride && a.col_stride == b.col_stride &&
         a.batch_stride == b.batch_stride;
}

double read_host_scalar(const BlasProblem& problem, const void* from) {
  if (!problem.single_scalars) return *static_cast<const double*>(from);
  return static_cast<double>(*static_cast<const float*>(from));
}

/// Checks what the descriptors cannot know, and fills in `call`.
cublasStatus_t resolve_scalars_and_pointers(const BlasProblem& problem, const void* alpha,
                                            const void* beta, BlasCall& call) {
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (problem.scalars_on_device) {
    call.alpha_at = alpha;
    call.beta_at = beta;
  } else {
    call.alpha = read_host_scalar(problem, alpha);
    call.beta = read_host_scalar(problem, beta);
  }
  const bool needs_c = problem.scalars_on_device || call.beta != 0;
  const bool needs_bias = problem.reads_bias() || problem.bias_gradient_size() != 0;
  const bool needs_aux = problem.writes_mask() || problem.reads_mask();
  if (call.a == nullptr || call.b == nullptr || call.d == nullptr ||
      (needs_c && call.c == nullptr) || (needs_bias && problem.bias == nullptr) ||
      (needs_aux && problem.aux == nullptr) ||
      (needs_c && call.c == call.d && !same_layout(problem.c, problem.d))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// Without an algorithm the library chooses one that suits the pointers and the workspace.
cublasStatus_t apply_algorithm(const BlasProblem& problem, const cublasLtMatmulAlgo_t* algo,
                               void* workspace, std::size_t workspace_bytes, BlasCall& call) {
  const BlasMatrix* const matrices[] = {&problem.a, &problem.b, &problem.c, &problem.d};
  for (std::size_t i = 0; i < 4; ++i) call.alignment[i] = size_of(matrices[i]->number);
  call.workspace = workspace;
  if (algo == nullptr) {
    call.workspace_bytes = workspace_bytes < kWorkspace ? 0 : kWorkspace;
  } else {
    Algorithm algorithm;
    std::memcpy(static_cast<void*>(&algorithm), algo, sizeof(algorithm));
    if (algorithm.mark != Algorithm::kMark) return CUBLAS_STATUS_INVALID_VALUE;
    if (algorithm.kind != problem.kind()) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (algorithm.workspace > workspace_bytes) return CUBLAS_STATUS_INVALID_VALUE;
    call.workspace_bytes = algorithm.workspace;
    for (std::size_t i = 0; i < 4; ++i) {
      call.alignment[i] = std::max<std::size_t>(call.alignment[i], algorithm.alignment[i]);
    }
  }
  return call.workspace_bytes != 0 && workspace == nullptr ? CUBLAS_STATUS_INVALID_VALUE
                                                           : CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = contexts.add(std::make_shared<BlasContext>());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return contexts.remove(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* returned) {
  if (contexts.find(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto limits = find_preference(preference);
  if (limits == nullptr || requested < 1 || results == nullptr || returned == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *returned = 0;
  BlasProblem problem;
  const cublasStatus_t status = resolve_handles(operation, a, b, c, d, problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  Algorithm algorithm{Algorithm::kMark, problem.kind(), 0, {}};
  const auto limit = limits->get<std::uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  if (limit >= kWorkspace) algorithm.workspace = kWorkspace;
  for (int i = 0; i < 4; ++i) {
    const auto promised =
        limits->get<std::uint32_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i);
    algorithm.alignment[i] = std::min(promised, kWidestLoad);
  }
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = algorithm.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  if (contexts.find(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  BlasProblem problem;
  cublasStatus_t status =
      resolve_handles(operation, a_layout, b_layout, c_layout, d_layout, problem);
  BlasCall call;
  call.a = a;
  call.b = b;
  call.c = c;
  call.d = d;
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = resolve_scalars_and_pointers(problem, alpha, beta, call);
  }
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = apply_algorithm(problem, algo, workspace, workspace_bytes, call);
  }
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  Work work{"cublasLtMatmul", operands_of(problem, call),
            [problem, call] { return run_product(problem, call); }};
  return enqueue(stream, std::move(work)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                         : CUBLAS_STATUS_EXECUTION_FAILED;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unrecognized status";
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "no error";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the handle was not created, or is destroyed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "a parameter has a wrong value, or contradicts another";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "no algorithm does what the descriptors ask for";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the work could not be put into the stream";
    default:
      return host::cublasLtGetStatusName(status);
  }
}

void fill_cublaslt(Table& table) {
#define TOWERFLOW_ENTRY(name) table.name = &host::name;
  TOWERFLOW_CUDA_CUBLASLT(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
  count_calls(table);
}

}  // namespace towerflow::cuda::host
