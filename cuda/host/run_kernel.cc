#include <algorithm>
#include <numeric>
#include <random>

#include "cuda/host/block.h"
#include "cuda/host/buffer_trace.h"
#include "cuda/host/coverage.h"
#include "cuda/host/host_kernel.h"
#include "cuda/host/launch_trace.h"

namespace towerflow::cuda::host {
namespace {

constexpr std::size_t kMostShared = 232448;  // of a block of compute capability 9.0

thread_local std::uint64_t order_seed = 0;

/// The bytes of the arguments, with host addresses in place of device addresses.
class HostArguments {
 public:
  HostArguments(const HostKernel& kernel, void* const* arguments,
                const std::function<const Buffer*(const void*)>& buffer_of, BufferTrace& trace) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      const Parameter& parameter = kernel.parameters[i];
      const auto* from = static_cast<const std::byte*>(arguments[i]);
      auto& words = values_.emplace_back((parameter.bytes + sizeof(Word) - 1) / sizeof(Word));
      auto* to = reinterpret_cast<std::byte*>(words.data());
      std::copy(from, from + parameter.bytes, to);
      for (const std::size_t offset : parameter.pointers) translate(to + offset, buffer_of, trace);
      pointers_.push_back(to);
    }
  }
  void* const* pointers() const { return pointers_.data(); }

 private:
  struct alignas(16) Word {
    std::byte bytes[16];
  };

  static void translate(std::byte* at, const std::function<const Buffer*(const void*)>& buffer_of,
                        BufferTrace& trace) {
    std::uintptr_t address = 0;
    std::copy(at, at + sizeof(address), reinterpret_cast<std::byte*>(&address));
    if (address == 0) return;
    const Buffer* buffer = buffer_of(reinterpret_cast<const void*>(address));
    if (buffer == nullptr) {
      // No address that can be accessed, but with the alignment of the one that was given.
      address = (std::uintptr_t{0xbad} << 48) | (address & 0xffff'ffff'ffff);
    } else {
      trace.add(*buffer);
      address = address - reinterpret_cast<std::uintptr_t>(buffer->device) +
                reinterpret_cast<std::uintptr_t>(buffer->host);
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&address);
    std::copy(bytes, bytes + sizeof(address), at);
  }

  std::vector<std::vector<Word>> values_;
  std::vector<void*> pointers_;
};

void check_limits(const HostKernel& kernel, const Launch& launch) {
  const auto check = [&](bool holds, const char* rule) {
    if (!holds) {
      throw KernelFault(cudaErrorInvalidValue,
                        std::string(kernel.name) + ": a launch with " + rule);
    }
  };
  const dim3 b = launch.blocks, t = launch.threads;
  check(b.x > 0 && b.y > 0 && b.z > 0 && t.x > 0 && t.y > 0 && t.z > 0, "no blocks or threads");
  check(b.x <= 0x7fffffff && b.y <= 0xffff && b.z <= 0xffff, "too large a grid");
  check(t.x <= 1024 && t.y <= 1024 && t.z <= 64 && t.x * t.y * t.z <= kernel.max_threads,
        "too many threads in a block");
  check(kernel.static_shared + launch.shared <= kMostShared, "too much shared memory");
}

/// Runs block after block in the order of `seed`, without a list of all: the blocks of a shuffled
/// launch are visited with a stride that has no divisor in common with their number.
void run_blocks(BlockRunner& runner, dim3 grid, std::uint64_t seed) {
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  std::mt19937_64 random(seed);
  std::uint64_t stride = 1, at = 0;
  if (seed != 0) {
    at = random() % blocks;
    do {
      stride = 1 + random() % blocks;
    } while (std::gcd(stride, blocks) != 1);
  }
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const auto plane = static_cast<unsigned>(at / grid.x);
    runner.run({static_cast<unsigned>(at % grid.x), plane % grid.y, plane / grid.y},
               seed == 0 ? 0 : random());
    at = (at + stride) % blocks;
  }
}

}  // namespace

void set_order(std::uint64_t seed) { order_seed = seed; }

KernelTrace run_kernel(const HostKernel& kernel, const Launch& launch, void* const* arguments,
                       const std::function<const Buffer*(const void*)>& buffer_of) {
  check_limits(kernel, launch);
  BufferTrace trace;
  const HostArguments translated(kernel, arguments, buffer_of, trace);
  BlockRunner runner(kernel, launch, translated.pointers());
  const ActiveLaunch active(runner, trace);
  run_blocks(runner, launch.blocks, order_seed);
  KernelTrace result = trace.result();
  count_launch(kernel.name, result);
  return result;
}

}  // namespace towerflow::cuda::host
