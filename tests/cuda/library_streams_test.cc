// Work of the libraries in streams: what it accesses, and what may be captured.
#include <array>
#include <string>

#include "tests/cuda/blas_product.h"
#include "tests/cuda/dnn_run.h"

namespace towerflow::cuda::testing {
namespace {

/// Products of a [4, 4] column-major matrix with itself into a part of a wider one.
class Multiplier {
 public:
  Multiplier() {
    CHECK(emulation().cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F) == 0);
    factor_ = make_layout({4, 4, 4}, CUDA_R_32F, 1);
    result_ = make_layout({4, 4, 8}, CUDA_R_32F, 1);
  }
  ~Multiplier() {
    emulation().cublasLtMatrixLayoutDestroy(factor_);
    emulation().cublasLtMatrixLayoutDestroy(result_);
    emulation().cublasLtMatmulDescDestroy(operation_);
  }
  Multiplier(const Multiplier&) = delete;
  Multiplier& operator=(const Multiplier&) = delete;

  cublasStatus_t run(const float* a, float* d, cudaStream_t stream, void* workspace = nullptr,
                     std::size_t bytes = 0) const {
    const float one = 1, no = 0;
    return emulation().cublasLtMatmul(handle_, operation_, &one, a, factor_, a, factor_, &no, d,
                                      result_, d, result_, nullptr, workspace, bytes, stream);
  }

 private:
  const Handle handle_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t factor_ = nullptr, result_ = nullptr;
};

TEST_CASE("libraries: streams may write parts that lie between each other, but not the same") {
  const Multiplier multiplier;
  DeviceArray<float> a(random_of<float>(16, 1)), d(std::size_t{36});
  for (const std::size_t shift : {4, 3}) {
    const TestStream first, second;
    CHECK(multiplier.run(a.get(), d.get(), first) == CUBLAS_STATUS_SUCCESS);
    CHECK(multiplier.run(a.get(), d.get() + shift, second) == CUBLAS_STATUS_SUCCESS);
    const bool is_ordered = first.wait() == cudaSuccess && second.wait() == cudaSuccess;
    CHECK(is_ordered == (shift == 4));
  }
  restart();
}

TEST_CASE("libraries: a workspace that two streams share is noticed") {
  const Multiplier multiplier;
  DeviceArray<float> a(random_of<float>(16, 1)), first_d(std::size_t{32}),
      second_d(std::size_t{32});
  DeviceArray<std::uint8_t> workspace(std::size_t{1} << 17);
  const TestStream first, second;
  CHECK(multiplier.run(a.get(), first_d.get(), first, workspace.get(), 1 << 17) == 0);
  CHECK(multiplier.run(a.get(), second_d.get(), second, workspace.get(), 1 << 17) == 0);
  CHECK((first.wait() != cudaSuccess || second.wait() != cudaSuccess));
  REQUIRE(host::found_fault());
  CHECK(host::found_fault()->text.find("cublasLtMatmul") != std::string::npos);
  restart();
}

TEST_CASE("libraries: a captured product is computed by each replay, not by the capture") {
  const Table& cuda = emulation();
  const Multiplier multiplier;
  std::vector<float> identity(16, 0);
  for (std::size_t i = 0; i < 4; ++i) identity[5 * i] = 2;
  DeviceArray<float> a(identity), d(std::vector<float>(32, -1));
  {
    const TestStream stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cuda.cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(multiplier.run(a.get(), d.get(), stream) == CUBLAS_STATUS_SUCCESS);
    CHECK(cuda.cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    CHECK(d.read()[0] == -1);
    CHECK(cuda.cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    for (int i = 0; i < 2; ++i) CHECK(cuda.cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(stream.wait() == cudaSuccess);
    CHECK(cuda.cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(cuda.cudaGraphDestroy(graph) == cudaSuccess);
  }
  CHECK(d.read()[0] == 4);
  CHECK(d.read()[4] == -1);
}

TEST_CASE("libraries: cudnnCreate fails during a capture, as on a card") {
  const Table& cuda = emulation();
  for (const auto& [mode, expected] : {std::pair{cudaStreamCaptureModeGlobal, 4004},
                                       std::pair{cudaStreamCaptureModeThreadLocal, 4004},
                                       std::pair{cudaStreamCaptureModeRelaxed, 0}}) {
    const TestStream stream;
    CHECK(cuda.cudaStreamBeginCapture(stream, mode) == cudaSuccess);
    cudnnHandle_t handle = nullptr;
    CHECK(static_cast<int>(cuda.cudnnCreate(&handle)) == expected);
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cuda.cudaStreamEndCapture(stream, &graph);
    CHECK(ended == (expected == 0 ? cudaSuccess : cudaErrorStreamCaptureInvalidated));
    if (graph != nullptr) cuda.cudaGraphDestroy(graph);
    if (handle != nullptr) CHECK(cuda.cudnnDestroy(handle) == CUDNN_STATUS_SUCCESS);
  }
}

}  // namespace
}  // namespace towerflow::cuda::testing
