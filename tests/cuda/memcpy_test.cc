#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::Gate;
namespace host = towerflow::cuda::host;

TEST_SUITE("cuda emulation: copies") {
  TEST_CASE("bytes arrive in device memory and back") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    std::byte* device = cuda.memory(1024);
    std::byte* other = cuda.memory(1024);
    std::byte* pinned = cuda.pinned(1024);
    for (int i = 0; i < 1024; ++i) pinned[i] = std::byte(i);
    CHECK(cuda.cudaMemcpyAsync(device, pinned, 1024, cudaMemcpyHostToDevice, stream) == 0);
    CHECK(cuda.cudaMemcpyAsync(other, device, 1024, cudaMemcpyDeviceToDevice, stream) == 0);
    CHECK(cuda.cudaMemsetAsync(other + 512, 7, 256, stream) == 0);
    std::vector<std::byte> back(1024);
    CHECK(cuda.cudaMemcpyAsync(back.data(), other, 1024, cudaMemcpyDefault, stream) == 0);
    CHECK(std::memcmp(back.data(), pinned, 512) == 0);
    CHECK(back[512] == std::byte{7});
    CHECK(back[767] == std::byte{7});
    CHECK(back[768] == pinned[768]);
    CHECK_FALSE(host::found_fault());
  }

  TEST_CASE("pageable memory is read before the call returns") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    std::byte* device = cuda.memory(64);
    std::vector<std::byte> from(64, std::byte{1}), back(64);
    Gate gate;
    cuda.run(stream, gate.wait());
    CHECK(cuda.cudaMemcpyAsync(device, from.data(), 64, cudaMemcpyHostToDevice, stream) == 0);
    std::fill(from.begin(), from.end(), std::byte{2});
    gate.open();
    CHECK(cuda.cudaMemcpyAsync(back.data(), device, 64, cudaMemcpyDeviceToHost, stream) == 0);
    CHECK(back[63] == std::byte{1});
  }

  TEST_CASE("pinned memory is read when the copy runs") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    std::byte* device = cuda.memory(64);
    std::byte* from = cuda.pinned(64);
    std::vector<std::byte> back(64);
    std::memset(from, 1, 64);
    Gate gate;
    cuda.run(stream, gate.wait());
    CHECK(cuda.cudaMemcpyAsync(device, from, 64, cudaMemcpyHostToDevice, stream) == 0);
    std::memset(from, 2, 64);
    gate.open();
    CHECK(cuda.cudaMemcpyAsync(back.data(), device, 64, cudaMemcpyDeviceToHost, stream) == 0);
    CHECK(back[63] == std::byte{2});
  }

  TEST_CASE("pointers of the wrong kind, freed or too short are refused at once") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    std::byte* device = cuda.memory(1024);
    std::byte* pinned = cuda.pinned(1024);
    std::byte* freed = cuda.memory(1024);
    REQUIRE(cuda.cudaFree(freed) == cudaSuccess);
    std::vector<std::byte> pageable(2048);
    const auto copy = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
      return cuda.cudaMemcpyAsync(to, from, bytes, kind, stream);
    };
    CHECK(copy(device, pageable.data(), 1025, cudaMemcpyHostToDevice) == 1);
    CHECK(copy(device + 1, pageable.data(), 1024, cudaMemcpyHostToDevice) == 1);
    CHECK(copy(device, pinned, 1025, cudaMemcpyHostToDevice) == 1);
    CHECK(copy(device, pinned + 1, 1024, cudaMemcpyHostToDevice) == 1);
    CHECK(copy(pageable.data(), pinned, 16, cudaMemcpyHostToDevice) == 1);
    CHECK(copy(device, device, 16, cudaMemcpyHostToDevice) == 1);
    CHECK(copy(device, nullptr, 16, cudaMemcpyHostToDevice) == 1);
    CHECK(copy(freed, pageable.data(), 16, cudaMemcpyHostToDevice) == 1);
    CHECK(copy(pageable.data(), freed, 16, cudaMemcpyDeviceToHost) == 1);
    CHECK(copy(pageable.data(), pinned, 16, cudaMemcpyDeviceToHost) == 1);
    CHECK(copy(freed, device, 16, cudaMemcpyDeviceToHost) == 1);
    CHECK(copy(pinned, device, 16, cudaMemcpyDeviceToDevice) == 1);
    CHECK(copy(device, pinned, 16, cudaMemcpyHostToHost) == 1);
    CHECK(copy(freed, device, 16, cudaMemcpyDefault) == 1);
    CHECK(cuda.cudaMemsetAsync(pinned, 0, 16, stream) == 1);
    CHECK(cuda.cudaMemsetAsync(freed, 0, 16, stream) == 1);
    CHECK(cuda.cudaMemsetAsync(device + 1000, 0, 25, stream) == 1);
    CHECK(cuda.cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cuda.cudaStreamSynchronize(stream) == cudaSuccess);
  }

  TEST_CASE("what a card accepts too") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    std::byte* device = cuda.memory(1024);
    std::byte* pinned = cuda.pinned(1024);
    CHECK(cuda.cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyHostToDevice, stream) == 0);
    CHECK(cuda.cudaMemsetAsync(nullptr, 0, 0, stream) == 0);
    CHECK(cuda.cudaMemcpyAsync(device, device + 512, 64, cudaMemcpyDeviceToHost, stream) == 0);
    CHECK(cuda.cudaMemcpyAsync(pinned, pinned + 512, 64, cudaMemcpyHostToHost, stream) == 0);
    CHECK(cuda.cudaStreamSynchronize(stream) == cudaSuccess);
  }

  TEST_CASE("copies between devices") {
    const Emulation cuda({.devices = 2, .memory = 1 << 20});
    std::byte* first = cuda.memory(64);
    cuda.cudaSetDevice(1);
    std::byte* second = cuda.memory(64);
    const cudaStream_t stream = cuda.stream();
    std::vector<std::byte> back(64);
    CHECK(cuda.cudaMemsetAsync(first, 3, 64, stream) == 0);
    CHECK(cuda.cudaMemcpyPeerAsync(second, 1, first, 0, 64, stream) == 0);
    CHECK(cuda.cudaMemcpyPeerAsync(second, 0, first, 1, 64, stream) == cudaErrorInvalidValue);
    CHECK(cuda.cudaMemcpyPeerAsync(second, 2, first, 0, 64, stream) == cudaErrorInvalidDevice);
    CHECK(cuda.cudaMemcpyAsync(back.data(), second, 64, cudaMemcpyDeviceToHost, stream) == 0);
    CHECK(back[63] == std::byte{3});
  }
}
