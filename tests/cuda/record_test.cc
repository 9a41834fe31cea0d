#include "cuda/table/record.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "cuda/host/host_kernel.h"
#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::Recorder;
using towerflow::cuda::Table;
namespace host = towerflow::cuda::host;

namespace {

using Lines = std::vector<std::string>;

void nothing(void* const*) {}

const int kernels_added = [] {
  host::add_kernel({.name = "record_test_kernel",
                    .parameters = {{.bytes = sizeof(void*), .pointers = {0}}},
                    .thread = nothing});
  return 0;
}();

/// A step as a backend makes it: memory, a copy, a kernel, two streams, an event.
Lines record_step() {
  const Emulation cuda;
  Recorder recorder(cuda);
  const Table& table = recorder.table();
  void *device = nullptr, *pinned = nullptr;
  cudaStream_t copies = nullptr, kernels = nullptr;
  cudaEvent_t event = nullptr;
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  table.cudaMalloc(&device, 4096);
  table.cudaHostAlloc(&pinned, 4096, 0);
  table.cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  table.cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking);
  table.cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  table.cudaLibraryLoadData(&library, "// PTX", nullptr, nullptr, 0, nullptr, nullptr, 0);
  table.cudaLibraryGetKernel(&kernel, library, "record_test_kernel");
  auto* at = static_cast<std::byte*>(device) + 64;
  table.cudaMemcpyAsync(at, pinned, 1024, cudaMemcpyHostToDevice, copies);
  table.cudaEventRecord(event, copies);
  table.cudaStreamWaitEvent(kernels, event, 0);
  void* arguments[] = {&device};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2, 3);
  config.blockDim = 32;
  config.stream = kernels;
  table.cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments);
  table.cudaMemsetAsync(device, 0, 5000, nullptr);
  table.cudaStreamSynchronize(kernels);
  table.cudaEventDestroy(event);
  table.cudaFree(device);
  return recorder.calls();
}

}  // namespace

TEST_SUITE("cuda table: record") {
  TEST_CASE("a line for each call, with numbers for handles and memory") {
    CHECK(record_step() ==
          Lines{"cudaMalloc(-> memory 1, 4096) = 0", "cudaHostAlloc(-> pinned 1, 4096, 0) = 0",
                "cudaStreamCreateWithFlags(-> stream 1, 1) = 0",
                "cudaStreamCreateWithFlags(-> stream 2, 1) = 0",
                "cudaEventCreateWithFlags(-> event 1, 2) = 0",
                "cudaLibraryLoadData(-> library 1, host, null, null, 0, null, null, 0) = 0",
                "cudaLibraryGetKernel(-> kernel record_test_kernel, library 1, "
                "\"record_test_kernel\") = 0",
                "cudaMemcpyAsync(memory 1 + 64, pinned 1, 1024, 1, stream 1) = 0",
                "cudaEventRecord(event 1, stream 1) = 0",
                "cudaStreamWaitEvent(stream 2, event 1, 0) = 0",
                "cudaLaunchKernelExC(2x3x1 blocks of 32x1x1, 0 shared, stream 2, kernel "
                "record_test_kernel, ..) = 0",
                "cudaMemsetAsync(memory 1, 0, 5000, stream 0) = 1",
                "cudaStreamSynchronize(stream 2) = 0", "cudaEventDestroy(event 1) = 0",
                "cudaFree(memory 1) = 0"});
    CHECK(kernels_added == 0);
  }

  TEST_CASE("the same program gives the same lines") { CHECK(record_step() == record_step()); }

  TEST_CASE("memory that was freed loses its number") {
    const Emulation cuda;
    Recorder recorder(cuda);
    void* memory = nullptr;
    recorder.table().cudaMalloc(&memory, 64);
    recorder.table().cudaFree(memory);
    recorder.table().cudaFree(memory);
    recorder.table().cudaMalloc(&memory, 64);
    recorder.table().cudaMalloc(nullptr, 64);
    CHECK(recorder.calls() == Lines{"cudaMalloc(-> memory 1, 64) = 0", "cudaFree(memory 1) = 0",
                                    "cudaFree(host) = 1", "cudaMalloc(-> memory 2, 64) = 0",
                                    "cudaMalloc(null, 64) = 1"});
  }

  TEST_CASE("calls can be forgotten, numbers stay") {
    const Emulation cuda;
    Recorder recorder(cuda);
    cudaStream_t stream = nullptr;
    recorder.table().cudaStreamCreateWithFlags(&stream, 0);
    recorder.clear();
    recorder.table().cudaStreamSynchronize(stream);
    CHECK(recorder.calls() == Lines{"cudaStreamSynchronize(stream 1) = 0"});
  }

  TEST_CASE("a call that waits does not hold up those of other threads") {
    const Emulation cuda;
    Recorder recorder(cuda);
    const Table& table = recorder.table();
    cudaStream_t stream = nullptr;
    table.cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    towerflow::cuda::Gate gate;
    Emulation::run(stream, gate.wait());
    std::thread waiting([&] { table.cudaStreamSynchronize(stream); });
    while (recorder.calls().size() < 2) std::this_thread::yield();
    CHECK(recorder.calls().back() == "cudaStreamSynchronize(stream 1) = ..");
    CHECK(table.cudaSetDevice(0) == cudaSuccess);
    gate.open();
    waiting.join();
    CHECK(recorder.calls() == Lines{"cudaStreamCreateWithFlags(-> stream 1, 1) = 0",
                                    "cudaStreamSynchronize(stream 1) = 0", "cudaSetDevice(0) = 0"});
  }

  TEST_CASE("calls of threads are noted in the order in which they happen") {
    const Emulation cuda;
    Recorder recorder(cuda);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          cudaEvent_t event = nullptr;
          recorder.table().cudaEventCreateWithFlags(&event, 0);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    const Lines lines = recorder.calls();
    REQUIRE(lines.size() == 200);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CHECK(lines[i] == "cudaEventCreateWithFlags(-> event " + std::to_string(i + 1) + ", 0) = 0");
    }
  }

  TEST_CASE("entries that are null stay null, until the base has them") {
    Table base;
    Recorder recorder(base);
    CHECK((recorder.table().cudaMalloc == nullptr));
    host::add_runtime(base);
    recorder.update();
    CHECK((recorder.table().cudaMalloc != nullptr));
    CHECK((recorder.table().cudaMalloc != base.cudaMalloc));
    CHECK((recorder.table().cublasLtCreate == nullptr));
    CHECK_THROWS_AS(Recorder{base}, std::logic_error);
  }
}
