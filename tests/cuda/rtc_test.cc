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
}

}  // namespace
}  // namespace towerflow::cuda::testing
