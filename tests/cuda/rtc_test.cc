// NVRTC through the emulation's table: the real compiler judges programs, where it is installed,
// and programs for a card run on an emulated one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/libraries.h"
#include "tests/cuda/real_libraries.h"

namespace towerflow::cuda::testing {
namespace {

constexpr const char* kPtx = "--gpu-architecture=compute_80";
constexpr const char* kCode = "--gpu-architecture=sm_90";

std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A program, whose headers are those with which kernels are written, and one more.
class Program {
 public:
  explicit Program(const std::string& text, const std::string& more = "factor.h") {
    std::vector<std::pair<std::string, std::string>> headers{
        {more, "constexpr float kFactor = 2;\n"}};
    for (const char* name : {"cuda/device/kernel.cuh", "cuda/device/pointers.h"}) {
      headers.emplace_back(name, text_of(name));
    }
    for (const char* name : {"cstddef", "cstdint", "type_traits", "cuda_runtime.h"}) {
      headers.emplace_back(name, text_of("cuda/device/rtc_standard.h"));
    }
    std::vector<const char*> names, texts;
    for (const auto& [name, content] : headers) {
      names.push_back(name.c_str());
      texts.push_back(content.c_str());
    }
    CHECK(emulation().nvrtcCreateProgram(&program_, text.c_str(), "program.cu",
                                         static_cast<int>(names.size()), texts.data(),
                                         names.data()) == NVRTC_SUCCESS);
  }
  ~Program() { CHECK(emulation().nvrtcDestroyProgram(&program_) == NVRTC_SUCCESS); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const char* card) {
    const char* const options[] = {card, "--std=c++20", "--device-as-default-execution-space"};
    const nvrtcResult result = emulation().nvrtcCompileProgram(program_, 3, options);
    CHECK(read(log, emulation().nvrtcGetProgramLogSize, emulation().nvrtcGetProgramLog));
    return result;
  }
  bool read_ptx() { return read(ptx, emulation().nvrtcGetPTXSize, emulation().nvrtcGetPTX); }
  bool read_code() { return read(code, emulation().nvrtcGetCUBINSize, emulation().nvrtcGetCUBIN); }

  std::string log, ptx, code;

 private:
  bool read(std::string& to, nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
            nvrtcResult (*copy)(nvrtcProgram, char*)) const {
    std::size_t size = 0;
    if (size_of(program_, &size) != NVRTC_SUCCESS) return false;
    to.resize(size);
    return copy(program_, to.data()) == NVRTC_SUCCESS;
  }

  nvrtcProgram program_ = nullptr;
};

const std::string kTwice =
    "#include \"cuda/device/kernel.cuh\"\n"
    "#include \"factor.h\"\n"
    "TOWERFLOW_KERNEL(twice, 256, float* x, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] *= kFactor;\n"
    "}\n";

cudaError_t launch(cudaKernel_t kernel, float* x, int n) {
  void* arguments[] = {&x, &n};
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = dim3(2);
  const TestStream stream;
  config.stream = stream;
  const cudaError_t status =
      emulation().cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments);
  return status != cudaSuccess ? status : stream.wait();
}

TEST_CASE("nvrtc: the real library judges programs and makes their PTX") {
  if (real_nvrtc() == nullptr) {
    std::printf("libnvrtc.so.13 is not installed: nobody judges programs\n");
    return;
  }
  Program twice(kTwice);
  CHECK(twice.compile(kPtx) == NVRTC_SUCCESS);
  CHECK(twice.read_ptx());
  CHECK(twice.ptx.find(".entry twice(") != std::string::npos);
  CHECK(twice.read_code());
  CHECK(twice.code.empty());  // of no card
  Program wrong("__global__ void wrong() { missing(); }");
  CHECK(wrong.compile(kCode) == NVRTC_ERROR_COMPILATION);
  CHECK(wrong.log.find("identifier \"missing\" is undefined") != std::string::npos);
  CHECK(Program(kTwice).compile("--gpu-architecture=sm_12345") == NVRTC_ERROR_INVALID_OPTION);
  int major = 0, minor = -1;
  CHECK(emulation().nvrtcVersion(&major, &minor) == NVRTC_SUCCESS);
  CHECK(major == 13);
  CHECK(minor >= 0);
  CHECK(std::string(emulation().nvrtcGetErrorString(NVRTC_ERROR_COMPILATION)) ==
        "NVRTC_ERROR_COMPILATION");
}

TEST_CASE("nvrtc: a program for a card runs on an emulated one, which sees its accesses") {
  restart();
  const Table& cuda = emulation();
  Program twice(kTwice);
  const nvrtcResult compiled = twice.compile(kCode);
  CAPTURE(twice.log);
  REQUIRE(compiled == NVRTC_SUCCESS);
  REQUIRE(twice.read_code());
  const auto load = [&] {
    cudaLibrary_t library = nullptr;
    CHECK(cuda.cudaLibraryLoadData(&library, twice.code.data(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0) == cudaSuccess);
    return library;
  };
  const cudaLibrary_t library = load(), again = load();
  cudaKernel_t kernel = nullptr, other = nullptr;
  CHECK(cuda.cudaLibraryGetKernel(&kernel, library, "thrice") == cudaErrorSymbolNotFound);
  CHECK(cuda.cudaLibraryGetKernel(&kernel, library, "Neg_float32") == cudaErrorSymbolNotFound);
  CHECK(cuda.cudaLibraryGetKernel(&kernel, library, "twice") == cudaSuccess);
  CHECK(cuda.cudaLibraryGetKernel(&other, again, "twice") == cudaSuccess);
  CHECK(kernel != other);
  const DeviceArray<float> x(std::vector<float>{1, 2, 3});
  CHECK(launch(kernel, x.get(), 3) == cudaSuccess);
  CHECK(launch(other, x.get(), 2) == cudaSuccess);
  CHECK(x.read() == std::vector<float>{4, 8, 6});
  CHECK(cuda.cudaLibraryUnload(again) == cudaSuccess);
  CHECK(launch(other, x.get(), 3) == cudaErrorInvalidResourceHandle);
  CHECK(launch(kernel, x.get(), 4) == cudaErrorIllegalAddress);
  restart();
}

TEST_CASE("nvrtc: what the compiler for the host refuses is said in the log") {
  if (real_nvrtc() != nullptr) {
    Program plain("extern \"C\" __global__ void plain() {}");
    CHECK(plain.compile(kCode) == NVRTC_ERROR_COMPILATION);
    CHECK(plain.log.find("kernel.cc:1:") != std::string::npos);
  }
  Program outside("int x;", "../factor.h");
  CHECK(outside.compile(kCode) == NVRTC_ERROR_COMPILATION);
  CHECK(outside.log.find("cannot be written") != std::string::npos);
  nvrtcProgram none = nullptr;
  CHECK(emulation().nvrtcDestroyProgram(&none) == NVRTC_ERROR_INVALID_PROGRAM);
  CHECK(emulation().nvrtcCompileProgram(none, 0, nullptr) == NVRTC_ERROR_INVALID_PROGRAM);
}

TEST_CASE(
    "nvrtc: files of the compiler are in the folder for temporary ones, and gone afterwards") {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  std::string folder = (std::filesystem::temp_directory_path() / "rtc_test_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  ::setenv("TMPDIR", folder.c_str(), 1);
  CHECK(Program(kTwice).compile(kCode) == NVRTC_SUCCESS);
  CHECK(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
  CHECK(Program(kTwice).compile(kCode) == NVRTC_ERROR_COMPILATION);
  Table table;
  CHECK(host::fill_nvrtc(table) == "the emulation of NVRTC finds no compiler for the host");
  CHECK(empty_entries(table, Group::nvrtc).size() == 11);
  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
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
