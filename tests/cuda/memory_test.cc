#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::host::Options;
namespace host = towerflow::cuda::host;

TEST_SUITE("cuda emulation: memory") {
  TEST_CASE("allocations are found by all of their bytes and by no other") {
    const Emulation cuda;
    std::byte* at = cuda.memory(1000);
    REQUIRE(at != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(at) % 256 == 0);
    CHECK(host::is_accessible(at, 1000));
    CHECK(host::is_accessible(at + 999, 1));
    CHECK_FALSE(host::is_accessible(at, 1001));
    CHECK_FALSE(host::is_accessible(at + 1000, 1));
    CHECK_FALSE(host::is_accessible(at - 1, 1));
    int pageable = 0;
    CHECK_FALSE(host::is_accessible(&pageable, 1));
    CHECK(host::host_address(&pageable) == nullptr);
  }

  TEST_CASE("the host has no access to device addresses, but to those of the second mapping") {
    const Emulation cuda;
    std::byte* at = cuda.memory(4096);
    auto* bytes = static_cast<unsigned char*>(host::host_address(at + 5));
    REQUIRE(bytes != nullptr);
    CHECK(static_cast<void*>(bytes) != at + 5);
    CHECK(*bytes == 0xff);  // fresh memory is a NaN
    // mprotect and mincore give no rights away; a pipe refuses to read what the host cannot read.
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK(write(ends[1], at, 1) == -1);
    CHECK(write(ends[1], bytes, 1) == 1);
    close(ends[0]);
    close(ends[1]);
  }

  TEST_CASE("freed memory is unknown, and its address is not given out again soon") {
    const Emulation cuda;
    std::byte* first = cuda.memory(512);
    auto* bytes = static_cast<unsigned char*>(host::host_address(first));
    std::memset(bytes, 1, 512);
    CHECK(cuda.cudaFree(first) == cudaSuccess);
    CHECK(bytes[100] == 0xff);
    CHECK(host::host_address(first) == nullptr);
    for (int i = 0; i < 100; ++i) {
      std::byte* next = cuda.memory(512);
      CHECK(next != first);
      CHECK(cuda.cudaFree(next) == cudaSuccess);
    }
    CHECK(cuda.cudaFree(first) == cudaErrorInvalidValue);
  }

  TEST_CASE("addresses are used again once all have been used") {
    const Emulation cuda({.memory = 1 << 20});
    for (int i = 0; i < 100; ++i) {
      std::byte* at = cuda.memory(1 << 19);
      REQUIRE(at != nullptr);
      CHECK(static_cast<unsigned char*>(host::host_address(at))[1 << 18] == 0xff);
      REQUIRE(cuda.cudaFree(at) == cudaSuccess);
    }
  }

  TEST_CASE("asking for more memory than there is gives 2") {
    const Emulation cuda({.memory = 1 << 20});
    void* at = nullptr;
    CHECK(cuda.cudaMalloc(&at, (1 << 20) + 1) == cudaErrorMemoryAllocation);
    CHECK(at == nullptr);
    CHECK(cuda.cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(cuda.cudaGetLastError() == cudaSuccess);
    CHECK(cuda.cudaMalloc(&at, 1 << 19) == cudaSuccess);
    std::size_t free = 0, total = 0;
    CHECK(cuda.cudaMemGetInfo(&free, &total) == cudaSuccess);
    CHECK(total == 1 << 20);
    CHECK(free == 1 << 19);
    void* more = nullptr;
    CHECK(cuda.cudaMalloc(&more, (1 << 19) + 1) == cudaErrorMemoryAllocation);
    CHECK(cuda.cudaFree(at) == cudaSuccess);
    CHECK(cuda.cudaMalloc(&more, 1 << 20) == cudaSuccess);
  }

  TEST_CASE("memory has a device") {
    const Emulation cuda({.devices = 2, .memory = 1 << 20});
    CHECK(cuda.cudaSetDevice(2) == cudaErrorInvalidDevice);
    CHECK(cuda.cudaSetDevice(-1) == cudaErrorInvalidDevice);
    CHECK(cuda.cudaSetDevice(1) == cudaSuccess);
    CHECK(cuda.memory(1 << 20) != nullptr);
    CHECK(cuda.memory(512) == nullptr);
    CHECK(cuda.cudaSetDevice(0) == cudaSuccess);
    CHECK(cuda.memory(512) != nullptr);
  }

  TEST_CASE("frees check their pointers") {
    const Emulation cuda;
    std::byte* device = cuda.memory(1024);
    std::byte* pinned = cuda.pinned(1024);
    std::vector<std::byte> pageable(1024);
    CHECK(cuda.cudaFree(nullptr) == cudaSuccess);
    CHECK(cuda.cudaFreeHost(nullptr) == cudaSuccess);
    CHECK(cuda.cudaFree(device + 256) == cudaErrorInvalidValue);
    CHECK(cuda.cudaFree(pinned) == cudaErrorInvalidValue);
    CHECK(cuda.cudaFree(pageable.data()) == cudaErrorInvalidValue);
    CHECK(cuda.cudaFreeHost(device) == cudaErrorInvalidValue);
    CHECK(cuda.cudaFreeHost(pinned + 1) == cudaErrorInvalidValue);
    CHECK(cuda.cudaFreeHost(pageable.data()) == cudaErrorInvalidValue);
    CHECK(cuda.cudaFree(device) == cudaSuccess);
    CHECK(cuda.cudaFree(device) == cudaErrorInvalidValue);
    CHECK(cuda.cudaFreeHost(pinned) == cudaSuccess);
    CHECK(cuda.cudaFreeHost(pinned) == cudaErrorInvalidValue);
  }

  TEST_CASE("registering the host's memory") {
    const Emulation cuda;
    std::vector<std::byte> pageable(8192);
    std::byte* at = pageable.data();
    CHECK(cuda.cudaHostUnregister(at) == cudaErrorHostMemoryNotRegistered);
    CHECK(cuda.cudaHostRegister(at, 4096, cudaHostRegisterDefault) == cudaSuccess);
    CHECK(host::host_address(at + 4095) == at + 4095);
    CHECK(cuda.cudaHostRegister(at + 4095, 10, 0) == cudaErrorHostMemoryAlreadyRegistered);
    CHECK(cuda.cudaHostRegister(at, 8192, 0) == cudaErrorHostMemoryAlreadyRegistered);
    CHECK(cuda.cudaHostRegister(at + 4096, 4096, 0) == cudaSuccess);
    CHECK(cuda.cudaFreeHost(at) == cudaErrorInvalidValue);
    CHECK(cuda.cudaHostUnregister(at + 1) == cudaErrorHostMemoryNotRegistered);
    CHECK(cuda.cudaHostUnregister(at) == cudaSuccess);
    CHECK(cuda.cudaHostUnregister(at) == cudaErrorHostMemoryNotRegistered);
    CHECK(host::host_address(at) == nullptr);
  }

  TEST_CASE("a read-only mapping is registered only with the flag for it") {
    const Emulation cuda;
    void* pages = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    CHECK(cuda.cudaHostRegister(pages, 8192, cudaHostRegisterDefault) == cudaErrorInvalidValue);
    CHECK(cuda.cudaHostRegister(pages, 8192, cudaHostRegisterReadOnly) == cudaSuccess);
    CHECK(cuda.cudaHostUnregister(pages) == cudaSuccess);
    munmap(pages, 8192);
  }

  TEST_CASE("properties of devices") {
    const Emulation cuda({.devices = 2, .memory = 1 << 22});
    int count = 0, version = 0;
    CHECK(cuda.cudaGetDeviceCount(&count) == cudaSuccess);
    CHECK(count == 2);
    CHECK(cuda.cudaDriverGetVersion(&version) == cudaSuccess);
    CHECK(version >= 13000);
    cudaDeviceProp properties;
    CHECK(cuda.cudaGetDeviceProperties(&properties, 1) == cudaSuccess);
    CHECK(properties.totalGlobalMem == 1 << 22);
    CHECK(properties.sharedMemPerBlockOptin == 227 << 10);
    CHECK(properties.name == std::string("emulated GPU 1"));
    CHECK(cuda.cudaGetDeviceProperties(&properties, 2) == cudaErrorInvalidDevice);
  }

  TEST_CASE("access to the memory of other devices") {
    const Emulation cuda({.devices = 2, .memory = 1 << 20});
    int can = -1;
    CHECK(cuda.cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess);
    CHECK(can == 1);
    CHECK(cuda.cudaDeviceCanAccessPeer(&can, 0, 0) == cudaSuccess);
    CHECK(can == 0);
    CHECK(cuda.cudaDeviceCanAccessPeer(&can, 0, 2) == cudaErrorInvalidDevice);
    CHECK(cuda.cudaDeviceEnablePeerAccess(0, 0) == cudaErrorInvalidDevice);
    CHECK(cuda.cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
    CHECK(cuda.cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
    CHECK(cuda.cudaDeviceDisablePeerAccess(0) == cudaErrorInvalidDevice);
    CHECK(cuda.cudaDeviceDisablePeerAccess(1) == cudaSuccess);
    CHECK(cuda.cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
    const Emulation apart({.devices = 2, .memory = 1 << 20, .peer_access = false});
    CHECK(apart.cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess);
    CHECK(can == 0);
    CHECK(apart.cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessUnsupported);
  }

  TEST_CASE("no device") {
    const Emulation cuda({.devices = 0});
    int count = -1;
    CHECK(cuda.cudaGetDeviceCount(&count) == cudaErrorNoDevice);
    CHECK(count == 0);
    CHECK(cuda.cudaSetDevice(0) == cudaErrorInvalidDevice);
  }

  TEST_CASE("options are read from text") {
    const Options options =
        host::parse_options("devices=3,memory=2M,seed=7,peer_access=0,max_delay=9");
    CHECK(options.devices == 3);
    CHECK(options.memory == 2 << 20);
    CHECK(options.seed == 7);
    CHECK_FALSE(options.peer_access);
    CHECK(options.max_delay == 9);
    CHECK(host::parse_options("").devices == 1);
    CHECK_THROWS_WITH(host::parse_options("device=3"),
                      "the emulation of CUDA has no option \"device\", only devices, memory, "
                      "peer_access, seed and max_delay");
    CHECK_THROWS_AS(host::parse_options("devices"), std::invalid_argument);
    CHECK_THROWS_AS(host::parse_options("devices=x"), std::invalid_argument);
    CHECK_THROWS_AS(host::parse_options("memory=1T"), std::invalid_argument);
    CHECK_THROWS_AS(host::parse_options("devices=1000"), std::invalid_argument);
  }
}
