// NVRTC through the emulation's table: the real compiler, where it is installed.
#include <cstdio>
#include <string>

#include "tests/cuda/libraries.h"

namespace towerflow::cuda::testing {
namespace {

/// Compiles a program for a card. Returns the compiler's status, and its log and PTX.
nvrtcResult compile(const Table& cuda, const char* text, std::string& log, std::string& ptx) {
  nvrtcProgram program = nullptr;
  CHECK(cuda.nvrtcCreateProgram(&program, text, "program.cu", 0, nullptr, nullptr) ==
        NVRTC_SUCCESS);
  const char* const options[] = {"--gpu-architecture=compute_80"};
  const nvrtcResult result = cuda.nvrtcCompileProgram(program, 1, options);
  std::size_t size = 0;
  CHECK(cuda.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS);
  log.resize(size);
  CHECK(cuda.nvrtcGetProgramLog(program, log.data()) == NVRTC_SUCCESS);
  if (result == NVRTC_SUCCESS) {
    CHECK(cuda.nvrtcGetPTXSize(program, &size) == NVRTC_SUCCESS);
    ptx.resize(size);
    CHECK(cuda.nvrtcGetPTX(program, ptx.data()) == NVRTC_SUCCESS);
  }
  CHECK(cuda.nvrtcDestroyProgram(&program) == NVRTC_SUCCESS);
  return result;
}

TEST_CASE("nvrtc: programs are compiled by the real library, or it is said to be missing") {
  Table cuda;
  const std::string missing = host::fill_nvrtc(cuda);
  if (!missing.empty()) {
    std::printf("%s: nothing is compiled\n", missing.c_str());
    CHECK(!cuda.nvrtcCreateProgram);
    return;
  }
  std::string log, ptx;
  CHECK(compile(cuda,
                "extern \"C\" __global__ void twice(float* x, int n) {"
                "  const int i = blockIdx.x * blockDim.x + threadIdx.x;"
                "  if (i < n) x[i] *= 2;"
                "}",
                log, ptx) == NVRTC_SUCCESS);
  CHECK(ptx.find(".entry twice(") != std::string::npos);
  CHECK(compile(cuda, "__global__ void wrong() { missing(); }", log, ptx) ==
        NVRTC_ERROR_COMPILATION);
  CHECK(log.find("identifier \"missing\" is undefined") != std::string::npos);
  int major = 0, minor = -1;
  CHECK(cuda.nvrtcVersion(&major, &minor) == NVRTC_SUCCESS);
  CHECK(major == 13);
  CHECK(minor >= 0);
  CHECK(std::string(cuda.nvrtcGetErrorString(NVRTC_ERROR_COMPILATION)) ==
        "NVRTC_ERROR_COMPILATION");
  // Machine code of a card, which is an ELF file.
  nvrtcProgram program = nullptr;
  CHECK(cuda.nvrtcCreateProgram(&program, "__global__ void nothing() {}", "program.cu", 0, nullptr,
                                nullptr) == NVRTC_SUCCESS);
  const char* const options[] = {"--gpu-architecture=sm_90"};
  REQUIRE(cuda.nvrtcCompileProgram(program, 1, options) == NVRTC_SUCCESS);
  std::size_t size = 0;
  CHECK(cuda.nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS);
  std::string code(size, '\0');
  CHECK(cuda.nvrtcGetCUBIN(program, code.data()) == NVRTC_SUCCESS);
  CHECK(code.substr(0, 4) ==
        "\x7f"
        "ELF");
  CHECK(cuda.nvrtcDestroyProgram(&program) == NVRTC_SUCCESS);
}

TEST_CASE("the runtime and the libraries say which version they are, and what statuses mean") {
  restart(2);
  const Table& cuda = emulation();
  int version = 0, device = -1;
  CHECK(cuda.cudaRuntimeGetVersion(&version) == cudaSuccess);
  CHECK(version == CUDART_VERSION);
  CHECK(cuda.cudaSetDevice(1) == cudaSuccess);
  CHECK(cuda.cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 1);
  CHECK(cuda.cudaSetDevice(0) == cudaSuccess);
  CHECK(cuda.cublasLtGetVersion() == CUBLAS_VERSION);
  CHECK(cuda.cudnnGetVersion() == CUDNN_VERSION);
  CHECK(cuda.ncclGetVersion(&version) == ncclSuccess);
  CHECK(version == NCCL_VERSION_CODE);
  CHECK(std::string(cuda.cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)) ==
        "CUBLAS_STATUS_NOT_SUPPORTED");
  CHECK(std::string(cuda.cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)) !=
        cuda.cublasLtGetStatusString(CUBLAS_STATUS_SUCCESS));
}

}  // namespace
}  // namespace towerflow::cuda::testing
