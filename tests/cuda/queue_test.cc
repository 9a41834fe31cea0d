// What queues, events and memory of the backend keep to when devices, runs and errors follow each
// other.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/cuda/backend_fixture.h"

namespace towerflow {

using testing::CudaFixture;
using testing::kBytes;
using testing::text_of;

namespace {

/// Lets the next kernels of the queue find a row that is one.
void upload_right_data(const CudaFixture& on, Queue& queue) {
  queue.copy(on.memory.get(), on.result.get(), kBytes);
}
void upload_wrong_data(const CudaFixture& on, Queue& queue) {
  queue.copy(on.memory.get(), on.host.get(), kBytes);
}

const char* const kWrong = "InvalidArgumentError: index 117901063 is no row";

}  // namespace

TEST_SUITE("cuda queues") {
  TEST_CASE("memory is that of its device, whichever the thread has used last") {
    CudaFixture on;
    const auto free_on = [&](int index) {
      on.backend->device(index)->select();
      std::size_t free = 0, total = 0;
      on.backend->device(index)->table().cudaMemGetInfo(&free, &total);
      return free;
    };
    constexpr std::size_t kMuch = std::size_t{1} << 20;
    const std::size_t first = free_on(0), second = free_on(1);
    on.backend->device(0)->select();
    const auto memory = on.backend->allocate(1, kMuch);
    CHECK(free_on(0) == first);
    CHECK(free_on(1) <= second - kMuch);
  }

  // A null address stands for a value that is not there yet.
  TEST_CASE("no bytes have an address too") {
    CudaFixture on;
    const auto one = on.backend->allocate(0, 0), other = on.backend->allocate(0, 0);
    CHECK(one != nullptr);
    CHECK(other != nullptr);
    CHECK(one != other);
    CHECK(on.backend->allocate_staging(0) != nullptr);
  }

  TEST_CASE("an event may move from one device to the other and back") {
    for (const bool graphs : {false, true}) {
      CAPTURE(graphs);
      CudaFixture on({.count = 2, .graphs = graphs, .emulated = true});
      const auto event = on.make_event();
      for (const std::size_t device : {0, 1, 1, 0}) {
        CAPTURE(device);
        Queue& queue = *on.queues[device];
        queue.start(false);
        event->reset();
        queue.record(*event);
        queue.flush();
        event->await_done(event->use(), &on.cancellation);
        CHECK(event->done());
        CHECK_FALSE(event->failed());
        CHECK(text_of(queue.synchronize()) == "no error");
      }
    }
  }

  // Programs may use CUDA besides Towerflow, in stream 0 above all.
  TEST_CASE("queues do not wait for work in stream 0") {
    CudaFixture on;
    const cuda::Device& device = *on.backend->device(0);
    struct Work {
      std::atomic<bool> may_end{false}, gave_up{false};
    } work;
    const auto wait = [](void* data) {
      auto& own = *static_cast<Work*>(data);
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!own.may_end && !own.gave_up) {
        std::this_thread::yield();
        own.gave_up = std::chrono::steady_clock::now() > limit;
      }
    };
    device.select();
    REQUIRE(device.table().cudaLaunchHostFunc(nullptr, wait, &work) == cudaSuccess);
    upload_wrong_data(on, *on.queues[0]);
    on.queues[0]->copy(on.result.get(), on.memory.get(), kBytes);
    CHECK(text_of(on.queues[0]->synchronize()) == "no error");
    CHECK_FALSE(work.gave_up);
    work.may_end = true;
    device.select();
    CHECK(device.table().cudaStreamSynchronize(nullptr) == cudaSuccess);
  }

  TEST_CASE("an event that is done tells of wrong data before it, and hides none after it") {
    CudaFixture on;
    Queue& queue = *on.queues[0];
    const auto gather = [&](std::size_t instruction) {
      queue.begin(instruction, nullptr);
      on.enqueue_gather(queue);
      queue.end();
      const auto event = on.record(queue);
      event->await_done(event->use(), &on.cancellation);
      return event;
    };
    upload_right_data(on, queue);
    const auto right = gather(1);
    upload_wrong_data(on, queue);
    const auto wrong = gather(2);
    upload_right_data(on, queue);
    const auto after = gather(3);
    CHECK_FALSE(right->failed());
    CHECK(wrong->failed());
    CHECK(after->failed());
    const auto failed = queue.synchronize();
    REQUIRE(failed.has_value());
    CHECK(failed->instruction == 2);
    CHECK(text_of(failed) == kWrong);

    queue.start(false);  // the same with right data
    for (const std::size_t instruction : {1, 2, 3}) CHECK_FALSE(gather(instruction)->failed());
    CHECK(text_of(queue.synchronize()) == "no error");
  }

  TEST_CASE("wrong data are told before an error that comes later") {
    CudaFixture on;
    Queue& queue = *on.queues[0];
    upload_wrong_data(on, queue);
    queue.begin(3, nullptr);
    on.enqueue_gather(queue);
    queue.end();
    queue.begin(5, nullptr);
    queue.copy(on.memory.get(), on.host.get(), kBytes + 1);
    queue.end();
    CHECK(queue.failed());
    const auto failed = queue.synchronize();
    REQUIRE(failed.has_value());
    CHECK(failed->instruction == 3);
    CHECK(text_of(failed) == kWrong);
  }

  TEST_CASE("a run may check its data any number of times, and ends early if they were wrong") {
    constexpr std::size_t kMany = 2500;
    for (const bool wrong : {false, true}) {
      CAPTURE(wrong);
      CudaFixture on;
      Queue& queue = *on.queues[0];
      upload_right_data(on, queue);
      std::size_t made = 0;
      for (; made < kMany && !queue.failed(); ++made) {
        queue.begin(made, nullptr);
        if (made == 700 && wrong) upload_wrong_data(on, queue);
        on.enqueue_gather(queue);
        queue.end();
      }
      CHECK((made < kMany) == wrong);
      queue.copy(on.result.get(), on.host.get(), kBytes);
      const auto failed = queue.synchronize();
      CHECK(text_of(failed) == (wrong ? kWrong : "no error"));
      CHECK(on.first_byte() == (wrong ? 0 : 7));
      if (wrong) CHECK(failed->instruction == 700);
    }
  }
}

}  // namespace towerflow
