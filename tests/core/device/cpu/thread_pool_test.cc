#include "core/device/cpu/thread_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/device/cpu/cpu_kernel.h"

namespace towerflow {
namespace {

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Waits until other threads have made `done()` true. Fails after ten seconds.
template <class Done>
void wait_until(Done done) {
  for (int i = 0; i < 10000 && !done(); ++i) sleep_ms(1);
  CHECK(done());
}

TEST_CASE("slice_range covers every element once and keeps to units") {
  for (const std::int64_t total : {0, 1, 15, 16, 17, 63, 64, 1000})
    for (const int slices : {1, 2, 3, 8})
      for (const std::int64_t unit : {1, 16}) {
        std::int64_t next = 0;
        for (int slice = 0; slice < slices; ++slice) {
          const SliceRange range = slice_range(total, slices, slice, unit);
          REQUIRE(range.begin == next);
          REQUIRE(range.end >= range.begin);
          REQUIRE((range.begin % unit == 0 || range.begin == total));
          next = range.end;
        }
        REQUIRE(next == total);
      }
}

TEST_CASE("slices are large enough, and not too many") {
  CHECK(slice_count(0, 16) == 1);
  CHECK(slice_count(31, 16) == 1);
  CHECK(slice_count(32, 16) == 2);
  CHECK(slice_count(1000, 1, 4) == 4);
  CHECK(loop_slices(2 * kLoopGrain - 1) == 1);
  CHECK(loop_slices(2 * kLoopGrain) == 2);
  CHECK(loop_slices(1 << 30) == kMaxSlices);
  CHECK(partial_slices(1 << 30) == kMaxPartialSlices);
  CHECK(row_slices(0, 1 << 20) == 1);
  CHECK(row_slices(3, 1 << 20) == 3);
  CHECK(row_slices(1 << 20, 1) == loop_slices(1 << 20));
  CHECK(row_slices(std::int64_t{1} << 40, 1) == kMaxSlices);
}

/// A kernel of two phases, each slice of which increments its counter in the first output.
class SliceCountingKernel final : public CpuKernel {
 public:
  std::size_t workspace_bytes() const override { return 24; }
  int phases() const override { return 2; }
  int slices(int phase) const override { return 3 + phase; }
  bool may_overwrite(int input, int output) const override { return input == 1 && output == 2; }
  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const*, void* const* outputs,
           std::byte*) const override {
    static_cast<int*>(outputs[0])[4 * phase + slice] += 1;
  }
};

/// Runs the inner kernel, then counts the run.
class CountingDecorator final : public KernelDecorator {
 public:
  CountingDecorator() : KernelDecorator(std::make_unique<SliceCountingKernel>()) {}
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    KernelDecorator::run(phase, slice, inputs, outputs, workspace);
    ++runs;
  }
  mutable std::atomic<int> runs{0};
};

TEST_CASE("a decorator has the phases and slices of its kernel, and all else") {
  const CountingDecorator kernel;
  CHECK(kernel.workspace_bytes() == 24);
  CHECK(kernel.may_overwrite(1, 2));
  CHECK_FALSE(kernel.may_overwrite(1, 1));
  CHECK_FALSE(kernel.may_fail());
  ThreadPool pool(2);
  int noted[8] = {};
  void* const outputs[] = {noted};
  pool.run_kernel(kernel, nullptr, outputs, nullptr);
  CHECK(std::vector<int>(noted, noted + 8) == std::vector<int>{1, 1, 1, 0, 1, 1, 1, 1});
  CHECK(kernel.runs == 7);
}

TEST_CASE("every slice runs exactly once, for any number of cores and slices") {
  for (const int cores : {1, 2, 3, 8}) {
    ThreadPool pool(cores);
    CHECK(pool.cores() == cores);
    for (const int slices : {0, 1, 2, 3, 100}) {
      std::vector<std::atomic<int>> count(static_cast<std::size_t>(slices));
      for (int round = 0; round < 50; ++round)
        pool.parallel(slices, [&](int slice) { ++count[static_cast<std::size_t>(slice)]; });
      for (const auto& each : count) REQUIRE(each == 50);
    }
    wait_until([&] { return pool.computing() == 0; });
  }
}

TEST_CASE("a helper takes part, and the slices of one call run at the same time") {
  ThreadPool pool(2);
  std::latch both(2);  // hangs if one thread runs both slices in turn
  std::thread::id ids[2];
  pool.parallel(2, [&](int slice) {
    both.arrive_and_wait();
    ids[slice] = std::this_thread::get_id();
  });
  CHECK(ids[0] != ids[1]);
}

TEST_CASE("the caller takes the first slices and a helper the last ones") {
  ThreadPool pool(2);
  const auto caller = std::this_thread::get_id();
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::atomic<int> first_of_helper{-1};
    std::vector<int> of_caller;
    pool.parallel(8, [&](int slice) {
      if (std::this_thread::get_id() == caller) {
        if (of_caller.empty()) wait_until([&] { return first_of_helper >= 0; });
        of_caller.push_back(slice);
      } else {
        int none = -1;
        first_of_helper.compare_exchange_strong(none, slice);
      }
    });
    CHECK(first_of_helper == 7);
    REQUIRE(!of_caller.empty());
    for (std::size_t i = 0; i < of_caller.size(); ++i) CHECK(of_caller[i] == static_cast<int>(i));
  }
}

TEST_CASE("a caller that is alone changes its side with each call") {
  const auto order = [](ThreadPool& pool) {
    std::vector<int> slices;
    pool.parallel(4, [&](int slice) { slices.push_back(slice); });
    return slices;
  };
  const std::vector<int> forwards{0, 1, 2, 3}, backwards{3, 2, 1, 0};
  for (const int cores : {1, 2}) {
    ThreadPool pool(cores);
    const ThreadPool::Announcement others(pool, cores - 1);
    const bool begins_forwards = order(pool) == forwards;
    CHECK(order(pool) == (begins_forwards ? backwards : forwards));
    CHECK(order(pool) == (begins_forwards ? forwards : backwards));
    pool.parallel(1, [](int) {});  // without a side
    CHECK(order(pool) == (begins_forwards ? backwards : forwards));
  }
}

TEST_CASE("several callers at once, with calls inside slices") {
  ThreadPool pool(3);
  std::vector<std::int64_t> sums(6, 0);
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < sums.size(); ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 300; ++round) {
        std::atomic<std::int64_t> sum{0};
        pool.parallel(
            5, [&](int outer) { pool.parallel(4, [&](int inner) { sum += outer * 10 + inner; }); });
        sums[c] += sum;
      }
    });
  for (std::thread& caller : callers) caller.join();
  for (const std::int64_t sum : sums) CHECK(sum == 300 * (4 * 100 + 5 * 6));
  wait_until([&] { return pool.computing() == 0; });
}

TEST_CASE("the exception of the lowest slice is thrown after all slices have ended") {
  for (const int cores : {1, 3}) {
    ThreadPool pool(cores);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> ended{0};
      std::string text;
      try {
        pool.parallel(20, [&](int slice) {
          ++ended;
          if (slice % 5 == 3) throw std::runtime_error("slice " + std::to_string(slice));
        });
      } catch (const std::runtime_error& error) {
        text = error.what();
        CHECK(ended == 20);
      }
      CHECK(text == "slice 3");
    }
    std::atomic<int> after{0};
    pool.parallel(4, [&](int) { ++after; });
    CHECK(after == 4);
  }
}

TEST_CASE("callers that occupy all cores get no helpers, a blocked one gives its core away") {
  ThreadPool pool(2);
  std::atomic<int> stage{0};
  std::thread other([&] {
    const ThreadPool::Computing computing(pool);
    stage = 1;
    wait_until([&] { return stage == 2; });
    {
      const ThreadPool::Blocked blocked(pool);
      stage = 3;
      wait_until([&] { return stage == 4; });
    }
    stage = 5;
    wait_until([&] { return stage == 6; });
  });
  const ThreadPool::Computing computing(pool);
  wait_until([&] { return stage == 1; });
  wait_until([&] { return pool.computing() == 2; });
  const auto self = std::this_thread::get_id();
  const auto count_foreign = [&] {
    std::atomic<int> foreign{0};
    pool.parallel(8, [&](int) {
      if (std::this_thread::get_id() != self) ++foreign;
      sleep_ms(2);
    });
    return foreign.load();
  };
  CHECK(count_foreign() == 0);
  stage = 2;
  wait_until([&] { return stage == 3; });
  wait_until([&] { return pool.computing() == 1; });
  CHECK(count_foreign() > 0);
  stage = 4;
  wait_until([&] { return stage == 5; });
  wait_until([&] { return pool.computing() == 2; });
  CHECK(count_foreign() == 0);
  stage = 6;
  other.join();
}

TEST_CASE("announced threads have their cores before they begin, and give them back") {
  ThreadPool pool(4);
  const auto wait_until_idle = [&] {
    while (pool.computing() > 0) std::this_thread::yield();
  };
  {
    ThreadPool::Announcement announced(pool, 3);
    CHECK(pool.computing() == 3);
    std::thread other([&] {
      const ThreadPool::Computing computing(announced);
      CHECK(pool.computing() == 3);
    });
    other.join();
    CHECK(pool.computing() == 2);
    {
      const ThreadPool::Computing computing(announced);
      CHECK(pool.computing() == 2);
      const ThreadPool::Blocked blocked(pool);
      CHECK(pool.computing() == 1);
    }
    CHECK(pool.computing() == 1);  // of the thread that never began
  }
  wait_until_idle();
  {
    // A thread that computes already, such as that of a loop, keeps one core.
    const ThreadPool::Computing outer(pool);
    ThreadPool::Announcement announced(pool, 2);
    CHECK(pool.computing() == 3);
    const ThreadPool::Computing inner(announced);
    CHECK(pool.computing() == 2);
  }
  wait_until_idle();
}

TEST_CASE("a thread that waits takes slices, so that no helper is woken for its core") {
  ThreadPool pool(2);
  bool helped = false;
  // A helper that is still awake may be faster.
  for (int attempt = 0; attempt < 100 && !helped; ++attempt) {
    std::atomic<bool> waiting{false}, published{false}, ended{false};
    std::thread::id waiter_id;
    std::thread waiter([&] {
      waiter_id = std::this_thread::get_id();
      const ThreadPool::Computing computing(pool);
      const auto done = [&] {
        if (!waiting.exchange(true)) wait_until([&] { return published.load(); });
        return ended.load();
      };
      const ThreadPool::Blocked blocked(pool, done);
      wait_until([&] { return ended.load(); });
    });
    wait_until([&] { return waiting.load(); });
    sleep_ms(5);
    std::atomic<int> started{0};
    std::vector<std::thread::id> ran(2);
    pool.parallel(2, [&](int slice) {
      ran[static_cast<std::size_t>(slice)] = std::this_thread::get_id();
      published = true;
      ++started;
      wait_until([&] { return started == 2; });
    });
    helped = ran[0] == waiter_id || ran[1] == waiter_id;
    ended = true;
    waiter.join();
  }
  CHECK(helped);
  wait_until([&] { return pool.computing() == 0; });
}

TEST_CASE("a thread stops helping when there is nothing to do, or all cores are taken") {
  ThreadPool pool(2);
  CHECK(pool.help_until([] { return true; }));
  CHECK_FALSE(pool.help_until([] { return false; }));
  {
    const ThreadPool::Announcement both(pool, 2);
    int asked = 0;
    CHECK_FALSE(pool.help_until([&] { return ++asked == 0; }));
    CHECK(asked < 1000);  // otherwise it asks several thousand times
  }
  const ThreadPool::Computing computing(pool);
  {
    const ThreadPool::Blocked blocked(pool, [] { return false; });
    CHECK(pool.computing() == 0);
  }
  CHECK(pool.computing() == 1);
}

TEST_CASE("work published while all cores were taken is picked up when one comes free") {
  ThreadPool pool(2);
  std::atomic<bool> taken{false};
  std::atomic<bool> started{false};
  std::thread other([&] {
    const ThreadPool::Computing computing(pool);
    taken = true;
    wait_until([&] { return started.load(); });
  });
  wait_until([&] { return taken.load(); });
  std::latch both(2);  // only a helper can run the second slice
  pool.parallel(2, [&](int) {
    started = true;
    both.arrive_and_wait();
  });
  other.join();
  wait_until([&] { return pool.computing() == 0; });
}

struct TwoPhase : CpuKernel {
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? 4 : 1; }
  std::size_t workspace_bytes() const override { return 4 * sizeof(int); }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    int* parts = reinterpret_cast<int*>(workspace);
    const int* in = static_cast<const int*>(inputs[0]);
    if (phase == 0) {
      parts[slice] = in[slice] * in[slice];
    } else {
      *static_cast<int*>(outputs[0]) = parts[0] + parts[1] + parts[2] + parts[3];
    }
  }
};

TEST_CASE("the phases of a kernel run one after another") {
  ThreadPool pool(2);
  const TwoPhase kernel;
  const int in[4] = {1, 2, 3, 4};
  for (int round = 0; round < 1000; ++round) {
    int out = 0;
    int workspace[4] = {};
    const void* inputs[] = {in};
    void* outputs[] = {&out};
    pool.run_kernel(kernel, inputs, outputs, reinterpret_cast<std::byte*>(workspace));
    REQUIRE(out == 30);
  }
}

}  // namespace
}  // namespace towerflow
