// Memory that only its simulated device can access.
#include "core/device/sim/sim_memory.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <vector>

#include "core/device/pinned_memory.h"
#include "core/graph/error.h"

namespace towerflow {
namespace {

/// Returns the signal that ends a child process that runs `call`, or 0 if it exits normally.
template <class Call>
int terminating_signal(Call call) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // the handlers of doctest and the sanitizers would report it
    std::signal(SIGBUS, SIG_DFL);
    call();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_CASE("device memory: the host faults where the launcher reads and writes") {
  const auto memory = std::make_shared<SimMemory>(0, 1 << 20);
  const auto block = memory->allocate(4096);
  auto* address = static_cast<volatile char*>(block.get());
  CHECK(memory->contains(block.get()));
  CHECK(terminating_signal([&] { static_cast<void>(*address); }) == SIGSEGV);
  CHECK(terminating_signal([&] { *address = 1; }) == SIGSEGV);
  char* seen = memory->to_host_address(static_cast<char*>(block.get()));
  CHECK(terminating_signal([&] { *static_cast<volatile char*>(seen) = 1; }) == 0);
  std::memset(seen, 7, 4096);
  CHECK(seen[4095] == 7);
}

TEST_CASE("device memory: it holds all of its bytes and not the one behind them") {
  const auto memory = std::make_shared<SimMemory>(0, 1 << 20);
  const auto all = memory->allocate(1 << 20);
  const auto* first = static_cast<const std::byte*>(all.get());
  CHECK(memory->contains(first));
  CHECK(memory->contains(first + (1 << 20) - 1));
  CHECK_FALSE(memory->contains(first + (1 << 20)));  // the host may have mapped pages there
  CHECK_FALSE(memory->contains(first - 1));
}

TEST_CASE("device memory: blocks do not overlap, are given back, and end somewhere") {
  const auto memory = std::make_shared<SimMemory>(3, 1 << 20);
  auto a = memory->allocate(1), b = memory->allocate(100000), c = memory->allocate(64);
  CHECK(static_cast<std::byte*>(b.get()) - static_cast<std::byte*>(a.get()) == 64);
  CHECK(memory->bytes_in_use() == 64 + 100032 + 64);
  b.reset();
  CHECK(memory->bytes_in_use() == 128);
  const auto again = memory->allocate(99000);  // fits where b was
  CHECK(again.get() < c.get());
  CHECK_THROWS_WITH_AS(memory->allocate(1 << 20),
                       doctest::Contains("simulated accelerator 3 is out of memory: 1048576 bytes "
                                         "asked for, 99136 of 1048576 in use"),
                       errors::ResourceExhaustedError);
  CHECK_THROWS_AS(memory->allocate(~std::size_t{0} - 64), errors::ResourceExhaustedError);
}

TEST_CASE("pinned memory: an observer learns of all pages and of their end") {
  struct Pages final : PinnedObserver {
    std::map<void*, std::size_t> bytes;
    void add_pages(void* pages, std::size_t size) noexcept override { bytes[pages] = size; }
    void remove_pages(void* pages) noexcept override { bytes.erase(pages); }
    bool contain(const void* address) const {
      return std::any_of(bytes.begin(), bytes.end(), [&](const auto& range) {
        const auto* begin = static_cast<const std::byte*>(range.first);
        return address >= begin && address < begin + range.second;
      });
    }
  } first, second;
  const auto early = allocate_pinned(100);
  observe_pinned(&first);
  CHECK(first.contain(early.get()));
  auto late = allocate_pinned(std::size_t{3} << 20);
  CHECK(first.contain(late.get()));
  CHECK(first.contain(static_cast<std::byte*>(late.get()) + (std::size_t{3} << 20) - 1));
  observe_pinned(&second);
  CHECK(first.bytes.empty());
  CHECK(second.contain(late.get()));
  const void* freed = late.get();
  late.reset();
  CHECK_FALSE(second.contain(freed));
  CHECK(second.contain(early.get()));
  observe_pinned(nullptr);
  CHECK(second.bytes.empty());
}

TEST_CASE("pinned memory: aligned, apart from each other, counted") {
  const std::size_t before = pinned_state().locked + pinned_state().refused;
  std::vector<std::shared_ptr<void>> blocks;
  for (const std::size_t bytes : {1, 64, 100, 70000, 300000, 3000000}) {
    blocks.push_back(allocate_pinned(bytes));
    CHECK(reinterpret_cast<std::uintptr_t>(blocks.back().get()) % 64 == 0);
    std::memset(blocks.back().get(), static_cast<int>(blocks.size()), bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK(*static_cast<unsigned char*>(blocks[i].get()) == i + 1);
  }
  CHECK(pinned_state().locked + pinned_state().refused >= before + 3370000);
  blocks.clear();
  CHECK(pinned_state().locked + pinned_state().refused <= before + 256 * 1024);
}

}  // namespace
}  // namespace towerflow
