#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::Gate;
using towerflow::cuda::host::found_fault;

namespace {

constexpr char kImage[] = "// PTX";

/// A stream, numbers in device memory, and a kernel that adds to one of them in each thread.
struct Adder {
  explicit Adder(const Emulation& emulation, const char* name = "runtime_test_add")
      : cuda(emulation) {
    cuda.cudaLibraryLoadData(&loaded, kImage, nullptr, nullptr, 0, nullptr, nullptr, 0);
    cuda.cudaLibraryGetKernel(&kernel, loaded, name);
    cuda.cudaMemsetAsync(values, 0, kBytes, stream);
  }
  cudaError_t launch(dim3 blocks, dim3 threads, std::size_t shared = 0) {
    return launch_function(reinterpret_cast<const void*>(kernel), blocks, threads, shared);
  }
  cudaError_t launch_function(const void* function, dim3 blocks = 1, dim3 threads = 1,
                              std::size_t shared = 0) {
    void* arguments[] = {&values, &number};
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return cuda.cudaLaunchKernelExC(&config, function, arguments);
  }
  /// Returns the sum of all numbers.
  int sum() {
    std::vector<int> back(kBytes / sizeof(int));
    cuda.cudaMemcpyAsync(back.data(), values, kBytes, cudaMemcpyDeviceToHost, stream);
    return std::accumulate(back.begin(), back.end(), 0);
  }

  static constexpr std::size_t kBytes = 1024 * sizeof(int);

  const Emulation& cuda;
  cudaStream_t stream = cuda.stream();
  void* values = cuda.memory(kBytes);
  int number = 1;
  cudaLibrary_t loaded = nullptr;
  cudaKernel_t kernel = nullptr;
};

}  // namespace

TEST_SUITE("cuda emulation: launches") {
  TEST_CASE("all threads of the grid run") {
    const Emulation cuda;
    Adder adder(cuda);
    CHECK(adder.launch(dim3(2, 3), dim3(4, 1, 2)) == cudaSuccess);
    CHECK(adder.sum() == 48);
  }

  TEST_CASE("arguments are copied when the kernel is launched") {
    const Emulation cuda;
    Adder adder(cuda);
    Gate gate;
    cuda.run(adder.stream, gate.wait());
    adder.number = 5;
    CHECK(adder.launch(1, 1) == cudaSuccess);
    adder.number = 100;
    gate.open();
    CHECK(adder.sum() == 5);
  }

  TEST_CASE("launches over a limit give 1") {
    const Emulation cuda;
    Adder adder(cuda), bounded(cuda, "runtime_test_bounded");
    CHECK(adder.launch(1, 1025) == 1);
    CHECK(adder.launch(1, dim3(32, 33)) == 1);
    CHECK(adder.launch(1, dim3(1, 1, 65)) == 1);
    CHECK(adder.launch(1, dim3(1, 1, 64)) == 0);
    CHECK(adder.launch(1, 0) == 1);
    CHECK(adder.launch(0, 1) == 1);
    CHECK(adder.launch(dim3(1, 65536), 1) == 1);
    CHECK(adder.launch(dim3(1, 1, 65536), 1) == 1);
    CHECK(adder.launch(2147483648u, 1) == 1);
    CHECK(adder.launch(1, 1024) == 0);
    CHECK(adder.launch(1, 1, 48 << 10) == 0);
    CHECK(adder.launch(1, 1, (48 << 10) + 1) == 1);
    CHECK(bounded.launch(1, 128) == 0);
    CHECK(bounded.launch(1, 129) == 1);
    CHECK(bounded.launch(1, 1, 47 << 10) == 0);
    CHECK(bounded.launch(1, 1, (47 << 10) + 1) == 1);
    CHECK(adder.sum() == 64 + 1024 + 1);
    CHECK(bounded.sum() == 128 + 1);
  }

  TEST_CASE("227 kB of shared memory for a kernel that asks for them") {
    const Emulation cuda;
    Adder adder(cuda), bounded(cuda, "runtime_test_bounded");
    const auto ask = [&](const Adder& of, int bytes) {
      return cuda.cudaFuncSetAttribute(reinterpret_cast<const void*>(of.kernel),
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    };
    CHECK(ask(adder, (227 << 10) + 1) == 1);
    CHECK(ask(adder, 227 << 10) == 0);
    CHECK(adder.launch(1, 1, 227 << 10) == 0);
    CHECK(adder.launch(1, 1, (227 << 10) + 1) == 1);
    CHECK(ask(bounded, 227 << 10) == 1);
    CHECK(ask(bounded, 226 << 10) == 0);
    CHECK(bounded.launch(1, 1, 226 << 10) == 0);
    cudaFuncAttributes attributes{};
    CHECK(cuda.cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(bounded.kernel)) ==
          0);
    CHECK(attributes.maxThreadsPerBlock == 128);
    CHECK(attributes.sharedSizeBytes == 1024);
    CHECK(attributes.maxDynamicSharedSizeBytes == 226 << 10);
  }

  TEST_CASE("the error of a launch remains until it is fetched") {
    const Emulation cuda;
    Adder adder(cuda);
    CHECK(adder.launch(1, 2000) == 1);
    CHECK(adder.launch(1, 1) == 0);
    CHECK(adder.sum() == 1);
    CHECK(cuda.cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cuda.cudaGetLastError() == cudaSuccess);
  }

  TEST_CASE("what is no kernel") {
    const Emulation cuda;
    Adder adder(cuda);
    int variable = 0;
    CHECK(adder.launch_function(nullptr) == cudaErrorInvalidDeviceFunction);
    CHECK(adder.launch_function(&variable) == cudaErrorInvalidResourceHandle);
    CHECK(adder.launch_function(adder.stream) == cudaErrorInvalidResourceHandle);
    CHECK(cuda.cudaFuncSetAttribute(&variable, cudaFuncAttributeMaxDynamicSharedMemorySize, 1) ==
          cudaErrorInvalidResourceHandle);
    const void* kernel = reinterpret_cast<const void*>(adder.kernel);
    CHECK(cuda.cudaLibraryUnload(adder.loaded) == cudaSuccess);
    CHECK(cuda.cudaLibraryUnload(adder.loaded) == cudaErrorInvalidResourceHandle);
    CHECK(adder.launch_function(kernel) == cudaErrorInvalidResourceHandle);
  }

  TEST_CASE(
      "libraries are lazy: bytes that are no program are noticed when a kernel is asked for") {
    const Emulation cuda;
    const auto load = [&](const void* bytes) {
      cudaLibrary_t library = nullptr;
      CHECK(cuda.cudaLibraryLoadData(&library, bytes, nullptr, nullptr, 0, nullptr, nullptr, 0) ==
            cudaSuccess);
      return library;
    };
    cudaKernel_t kernel = nullptr, again = nullptr;
    CHECK(cuda.cudaLibraryGetKernel(&kernel, load("no program"), "runtime_test_add") ==
          cudaErrorInvalidKernelImage);
    const unsigned fatbin[] = {0xba55ed50, 0};
    for (const void* image : {static_cast<const void*>(fatbin), static_cast<const void*>("\177ELF"),
                              static_cast<const void*>(".version 8.0")}) {
      const cudaLibrary_t library = load(image);
      CHECK(cuda.cudaLibraryGetKernel(&kernel, library, "runtime_test_add") == cudaSuccess);
      CHECK(cuda.cudaLibraryGetKernel(&again, library, "runtime_test_add") == cudaSuccess);
      CHECK(kernel == again);
      CHECK(cuda.cudaLibraryGetKernel(&kernel, library, "no kernel") == cudaErrorSymbolNotFound);
    }
    CHECK(cuda.cudaLibraryLoadData(nullptr, kImage, nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          cudaErrorInvalidValue);
  }

  TEST_CASE("a kernel that writes past its memory gives 700") {
    const Emulation cuda;
    Adder adder(cuda, "runtime_test_past_end");
    adder.number = 1023;
    CHECK(adder.launch(1, 1) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(adder.stream) == cudaSuccess);
    adder.number = 1024;
    CHECK(adder.launch(1, 1) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(adder.stream) == cudaErrorIllegalAddress);
  }

  TEST_CASE("a kernel that gets memory of the host, or freed memory, gives 700") {
    const Emulation cuda;
    Adder adder(cuda);
    std::vector<int> pageable(1);
    SUBCASE("pageable memory") { adder.values = pageable.data(); }
    SUBCASE("freed memory") {
      cuda.cudaStreamSynchronize(adder.stream);
      REQUIRE(cuda.cudaFree(adder.values) == cudaSuccess);
    }
    CHECK(adder.launch(1, 1) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(adder.stream) == cudaErrorIllegalAddress);
    CHECK(cuda.cudaGetLastError() == cudaErrorIllegalAddress);
    REQUIRE(found_fault());
    CHECK(found_fault()->text.find("\"kernel runtime_test_add\" in stream 1") == 0);
  }

  TEST_CASE("memory of another device needs access to it") {
    const Emulation cuda({.devices = 2, .memory = 1 << 20});
    cuda.cudaSetDevice(1);
    void* sum = cuda.memory(sizeof(int));
    cuda.cudaSetDevice(0);
    Adder adder(cuda);
    adder.values = sum;
    cudaError_t expected = cudaErrorIllegalAddress;
    SUBCASE("without") {}
    SUBCASE("with") {
      CHECK(cuda.cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
      expected = cudaSuccess;
    }
    CHECK(adder.launch(1, 1) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(adder.stream) == expected);
  }

  TEST_CASE("a kernel is launched into a stream of the current device") {
    const Emulation cuda({.devices = 2, .memory = 1 << 20});
    Adder adder(cuda);
    cuda.cudaSetDevice(1);
    CHECK(adder.launch(1, 1) == cudaErrorInvalidResourceHandle);
    cuda.cudaSetDevice(0);
    CHECK(adder.launch(1, 1) == cudaSuccess);
  }

  TEST_CASE("attributes of launches that change results are refused") {
    const Emulation cuda;
    Adder adder(cuda);
    void* arguments[] = {&adder.values, &adder.number};
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributePriority;
    cudaLaunchConfig_t config{};
    config.gridDim = config.blockDim = 1;
    config.stream = adder.stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const auto* kernel = reinterpret_cast<const void*>(adder.kernel);
    CHECK(cuda.cudaLaunchKernelExC(&config, kernel, arguments) == cudaSuccess);
    attribute.id = cudaLaunchAttributeClusterDimension;
    CHECK(cuda.cudaLaunchKernelExC(&config, kernel, arguments) == cudaErrorNotSupported);
  }

  TEST_CASE("occupancy follows from threads and shared memory") {
    const Emulation cuda;
    Adder adder(cuda), bounded(cuda, "runtime_test_bounded");
    const auto blocks = [&](const Adder& of, int threads, std::size_t shared) {
      int count = -1;
      CHECK(cuda.cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                &count, reinterpret_cast<const void*>(of.kernel), threads, shared) == cudaSuccess);
      return count;
    };
    CHECK(blocks(adder, 1024, 0) == 2);
    CHECK(blocks(adder, 32, 0) == 32);
    CHECK(blocks(adder, 33, 0) == 32);
    CHECK(blocks(adder, 65, 0) == 21);
    CHECK(blocks(adder, 32, 48 << 10) == 4);
    CHECK(blocks(bounded, 32, 112 << 10) == 2);
    CHECK(blocks(bounded, 129, 0) == 0);
  }
}
