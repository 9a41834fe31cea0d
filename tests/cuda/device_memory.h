#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/device/arguments.h"
#include "cuda/host/host_kernel.h"

namespace towerflow::cuda::testing {

/// Buffers with device addresses that the host cannot access, and launches of kernels by name.
class DeviceMemory {
 public:
  template <class T>
  T* upload(const std::vector<T>& values) {
    auto& block = add(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(block.buffer.host, values.data(), block.buffer.bytes);
    return reinterpret_cast<T*>(block.buffer.device);
  }
  /// A buffer of n numbers, filled with bytes that make NaN and -1.
  template <class T>
  T* allocate(std::size_t n) {
    auto& block = add(n * sizeof(T));
    std::memset(block.buffer.host, 0xff, block.buffer.bytes);
    return reinterpret_cast<T*>(block.buffer.device);
  }
  template <class T>
  std::vector<T> download(const T* device, std::size_t n) const {
    const host::Buffer* buffer = find(device);
    REQUIRE(buffer != nullptr);
    const auto at = reinterpret_cast<const std::byte*>(device) - buffer->device;
    REQUIRE(static_cast<std::size_t>(at) + n * sizeof(T) <= buffer->bytes);
    std::vector<T> values(n);
    if (n > 0) std::memcpy(values.data(), buffer->host + at, n * sizeof(T));
    return values;
  }

  /// Runs a kernel. The arguments have the types of its parameters.
  template <class... A>
  host::KernelTrace run(const std::string& name, host::Launch launch, const A&... arguments) const {
    const host::HostKernel* kernel = host::find_kernel(name);
    if (kernel == nullptr) throw std::runtime_error("there is no kernel " + name);
    if (kernel->parameters.size() != sizeof...(A)) {
      throw std::runtime_error(name + " has another number of parameters");
    }
    std::size_t i = 0;
    const auto fits = [&](std::size_t bytes) { return kernel->parameters[i++].bytes == bytes; };
    if (!(fits(sizeof(A)) && ...)) {
      throw std::runtime_error(name + ": parameter " + std::to_string(i) + " has another size");
    }
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    return host::run_kernel(*kernel, launch, pointers, [this](const void* p) { return find(p); });
  }

  const host::Buffer* find(const void* device) const {
    const auto at = reinterpret_cast<std::uintptr_t>(device);
    const auto next = blocks_.upper_bound(at);
    if (next == blocks_.begin()) return nullptr;
    const Block& block = std::prev(next)->second;
    const auto begin = reinterpret_cast<std::uintptr_t>(block.buffer.device);
    return at - begin < block.buffer.bytes ? &block.buffer : nullptr;
  }

 private:
  struct alignas(256) Line {
    std::byte bytes[256];
  };
  struct Block {
    std::vector<Line> memory;
    host::Buffer buffer;
  };

  Block& add(std::size_t bytes) {
    const std::uintptr_t device = next_;
    next_ += (bytes / 4096 + 2) * 4096;
    Block& block = blocks_[device];
    block.memory.resize(bytes / sizeof(Line) + 1);
    block.buffer = {reinterpret_cast<std::byte*>(device), block.memory[0].bytes, bytes};
    return block;
  }

  std::map<std::uintptr_t, Block> blocks_;
  std::uintptr_t next_ = 0x7'0000'0000'0000;  // no address of a program
};

/// Returns the fault of a launch: its status and what it says.
template <class Run>
host::KernelFault fault_of(Run run) {
  try {
    run();
  } catch (const host::KernelFault& fault) {
    return fault;
  }
  FAIL("no fault");
  throw std::logic_error("unreachable");
}

/// Returns an operand of the sizes and strides given, both in elements.
inline device::Strided<1> strided(const std::vector<std::uint32_t>& sizes,
                                  const std::vector<std::int64_t>& strides) {
  device::Strided<1> made;
  made.rank = static_cast<int>(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    made.sizes[d] = device::Divisor::of(sizes[d]);
    made.strides[0][d] = strides[d];
  }
  return made;
}

/// The launch of `threads` threads a block for n elements.
inline host::Launch launch_for(std::size_t n, unsigned threads = 256) {
  const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
  return {dim3(blocks == 0 ? 1 : blocks), dim3(threads), 0};
}

}  // namespace towerflow::cuda::testing
