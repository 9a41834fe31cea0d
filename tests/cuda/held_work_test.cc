// A queue holds back waits with its other work. They become part of its graphs, other queues never
// wait in vain for work that is held back, and wrong data are noticed as with any wait.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/cuda/backend_fixture.h"
#include "tests/cuda/long_hold.h"
#include "tests/cuda/recording.h"

namespace towerflow {

using testing::CudaFixture;
using testing::kBytes;
using testing::LongHold;
using testing::Recording;
using testing::ScopedLayer;
using testing::text_of;

namespace {

/// A gather that queues of the first GPU can hold back.
class Gather final : public cuda::CudaKernel {
 public:
  Gather(const CudaFixture& on, void* memory) : on_(on), memory_(memory) {}
  void run(cuda::CudaQueue& queue, const LaunchArgs&) const override {
    on_.launch_gather(queue, memory_);
  }
  void set_parameters(const LaunchArgs&, std::byte*) const override {}

 private:
  const CudaFixture& on_;
  void* memory_;
};

/// Work that does not end before it may.
class Gate {
 public:
  void enqueue(Queue& queue) {
    auto& own = static_cast<cuda::CudaQueue&>(queue);
    const auto wait = [](void* open) {
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!*static_cast<std::atomic<bool>*>(open) && std::chrono::steady_clock::now() < limit) {
        std::this_thread::yield();
      }
    };
    own.enqueue([&] {
      REQUIRE(own.device().table().cudaLaunchHostFunc(own.stream(), wait, &open_) == cudaSuccess);
    });
  }
  void open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

/// Two GPUs whose queues hold work back.
struct Holding : CudaFixture {
  explicit Holding(std::uint64_t seed = 0)
      : CudaFixture({.count = 2, .graphs = true, .emulated = true, .seed = seed}) {
    other = backend->allocate(1, kBytes);
  }
  std::shared_ptr<Event> make_event(int depth) const {
    auto event = CudaFixture::make_event();
    event->depth = depth;
    return event;
  }
  void start(const std::vector<std::shared_ptr<Event>>& events) const {
    for (const auto& queue : queues) queue->start(false);
    for (const auto& event : events) event->reset();
  }
  /// Copies through the memory of the first GPU, four times, as instructions from `first` on.
  void copy_through(Queue& queue, std::size_t first) const {
    for (std::size_t i = 0; i < 4; ++i) {
      queue.begin(first + i, nullptr);
      if (i % 2 == 0)
        queue.copy(memory.get(), host.get(), kBytes);
      else
        queue.copy(result.get(), memory.get(), kBytes);
      queue.end();
    }
  }
  void wait(Queue& queue, std::size_t instruction, Event& event) {
    queue.begin(instruction, nullptr);
    queue.wait(event, cancellation);
    queue.end();
  }
  void record(Queue& queue, std::size_t instruction, Event& event) const {
    queue.begin(instruction, nullptr);
    queue.record(event);
    queue.end();
  }

  std::shared_ptr<void> other;  // memory of the second GPU
};

const char* const kWrong = "InvalidArgumentError: index 117901063 is no row";

int count(const std::vector<std::string>& calls, const char* name) {
  return static_cast<int>(std::count_if(
      calls.begin(), calls.end(), [&](const std::string& call) { return call.starts_with(name); }));
}

}  // namespace

TEST_SUITE("work held back by cuda queues") {
  TEST_CASE("waits for what another queue has recorded are part of the graph") {
    const LongHold hold;
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      CAPTURE(seed);
      const auto layer = std::make_shared<Recording>();
      const ScopedLayer scope(layer);
      Holding on(seed);
      Queue &first = *on.queues[0], &second = *on.queues[1];
      const auto shallow = on.make_event(0), later = on.make_event(0), deep = on.make_event(1);
      for (int run = 0; run < 4; ++run) {
        CAPTURE(run);
        on.start({shallow, later, deep});
        // What the first GPU copies from is there only after the second one's copies.
        std::memset(on.host.get(), run, kBytes);
        std::memset(on.result.get(), 99, kBytes);
        layer->recorder().clear();
        on.record(second, 0, *shallow);
        second.begin(1, nullptr);
        second.copy(on.other.get(), on.host.get(), kBytes);
        second.end();
        on.record(second, 2, *later);
        second.flush();
        on.wait(first, 0, *shallow);
        on.record(first, 1, *deep);
        on.wait(first, 2, *later);
        for (const std::size_t i : {3, 4, 5, 6}) {
          first.begin(i, nullptr);
          first.copy(i < 5 ? on.memory.get() : on.result.get(),
                     i < 5 ? on.other.get() : on.memory.get(), kBytes);
          first.end();
        }
        CHECK_FALSE(deep->done());  // held back
        CHECK(text_of(first.synchronize()) == "no error");
        CHECK(deep->done());
        CHECK(text_of(second.synchronize()) == "no error");
        CHECK(on.first_byte() == run);
        const auto calls = layer->recorder().calls();
        CHECK(count(calls, "cudaGraphLaunch") == (run == 0 ? 0 : 1));
        CHECK(count(calls, "cudaStreamWaitEvent") == (run < 2 ? 2 : 0));
      }
    }
  }

  TEST_CASE("an event that may wait for the work is awaited without holding it back") {
    const LongHold hold;
    for (const int depth : {1, 2}) {
      Holding on;
      Queue &first = *on.queues[0], &second = *on.queues[1];
      const auto own = on.make_event(1), answer = on.make_event(depth);
      on.copy_through(first, 0);
      on.record(first, 4, *own);
      std::thread thread([&] {
        on.wait(second, 0, *own);
        on.record(second, 1, *answer);
        second.flush();
      });
      on.wait(first, 5, *answer);
      thread.join();
      CHECK(text_of(first.synchronize()) == "no error");
      CHECK(text_of(second.synchronize()) == "no error");
    }
  }

  // Another run may wait for the work, which depths say nothing of.
  TEST_CASE("so is any event that is not recorded in a short time") {
    Holding on;
    Queue &first = *on.queues[0], &second = *on.queues[1];
    const auto own = on.make_event(1), shallow = on.make_event(0);
    on.copy_through(first, 0);
    on.record(first, 4, *own);
    std::thread thread([&] {
      const EventUse of_another_run{own, own->use(), &first};
      second.wait(of_another_run, on.cancellation);
      on.record(second, 1, *shallow);
      second.flush();
    });
    on.wait(first, 5, *shallow);
    thread.join();
    CHECK(text_of(first.synchronize()) == "no error");
    CHECK(text_of(second.synchronize()) == "no error");
  }

  TEST_CASE("what follows a wait for wrong data fails, what precedes it does not") {
    Holding on;
    Queue &first = *on.queues[0], &second = *on.queues[1];
    const auto found = on.make_event(0), before = on.make_event(1), after = on.make_event(1);
    for (int run = 0; run < 6; ++run) {
      CAPTURE(run);
      const bool wrong = run % 2 == 1;  // in a graph from the third run on
      on.start({found, before, after});
      first.copy(on.memory.get(), wrong ? on.host.get() : on.result.get(), kBytes);
      Gate gate;
      gate.enqueue(first);
      on.enqueue_gather(first);
      on.record(first, 0, *found);
      first.flush();
      on.record(second, 0, *before);
      on.wait(second, 1, *found);
      for (const std::size_t i : {2, 3, 4, 5}) {
        second.begin(i, nullptr);
        second.copy(on.other.get(), on.host.get(), kBytes);
        second.end();
      }
      on.record(second, 6, *after);
      CHECK(second.may_find_wrong_data());
      gate.open();
      const auto failed = second.synchronize();
      CHECK(failed.has_value() == wrong);
      if (failed) {
        CHECK(failed->instruction == 1);
        CHECK(text_of(failed).find("an operation that this one waits for has failed") !=
              std::string::npos);
      }
      CHECK_FALSE(before->failed());
      CHECK(after->failed() == wrong);
      CHECK(first.synchronize().has_value() == wrong);
    }
  }

  TEST_CASE(
      "wrong data before such a wait are the queue's own error, wrong data after it may not be") {
    Holding on;
    const auto more = on.backend->allocate(0, kBytes);
    const Gather gather(on, more.get());
    const auto third = on.backend->make_queue(0, Lane::compute);
    Queue &first = *on.queues[0], &second = *third;
    const auto found = on.make_event(0), after = on.make_event(1);
    for (int run = 0; run < 8; ++run) {
      CAPTURE(run);  // in a graph from the third run on
      const bool others = run % 2 == 1, own = run / 2 % 2 == 1;
      on.start({found, after});
      second.start(false);
      first.copy(on.memory.get(), others ? on.host.get() : on.result.get(), kBytes);
      Gate gate;
      gate.enqueue(first);
      on.enqueue_gather(first);
      on.record(first, 0, *found);
      first.flush();
      second.copy(more.get(), own ? on.host.get() : on.result.get(), kBytes);
      second.flush();
      const auto enqueue = [&](std::size_t instruction) {
        second.begin(instruction, nullptr);
        gather.enqueue(second, {});
        second.end();
      };
      for (const std::size_t i : {0, 1}) enqueue(i);
      on.wait(second, 2, *found);
      for (const std::size_t i : {3, 4}) enqueue(i);
      on.record(second, 5, *after);
      second.flush();
      gate.open();
      const auto failed = second.synchronize();
      REQUIRE(failed.has_value() == (own || others));
      if (failed) CHECK(failed->instruction == (own ? 0 : 2));
      if (own) CHECK(text_of(failed) == kWrong);
      CHECK(after->failed() == (own || others));
      CHECK(first.synchronize().has_value() == others);
    }
  }

  TEST_CASE("a queue that has failed neither waits for ever nor keeps others waiting") {
    Holding on;
    Queue &first = *on.queues[0], &second = *on.queues[1];
    const auto found = on.make_event(0), after = on.make_event(1);
    on.copy_through(second, 0);
    second.begin(4, nullptr);
    second.copy(on.other.get(), on.host.get(), kBytes + 1);  // too much
    second.end();
    on.record(first, 0, *found);
    first.flush();
    on.wait(second, 5, *found);
    on.record(second, 6, *after);
    const auto failed = second.synchronize();
    REQUIRE(failed.has_value());
    CHECK(failed->instruction == 4);
    CHECK(after->done());
    CHECK(after->failed());
    CHECK(text_of(first.synchronize()) == "no error");
  }
}

}  // namespace towerflow
