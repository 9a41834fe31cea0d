// The backend on the emulation: queues run asynchronously and in order, events order them, and
// errors come back with their instruction.
#include "tests/cuda/backend_fixture.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/device/backend_registry.h"
#include "core/device/host_event.h"
#include "core/device/pending_accesses.h"
#include "core/device/pinned_memory.h"
#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/runtime/session.h"
#include "cuda/backend/cuda_queue.h"

namespace towerflow {

using testing::CudaFixture;
using testing::kBytes;
using testing::text_of;

namespace {

/// Returns whether a queue that waits for the event fails with CancelledError.
bool is_cancelled_by(Event& event, Queue& waiting) {
  Cancellation none;
  try {
    waiting.wait(event, none);
  } catch (const errors::CancelledError&) {
    return true;
  }
  return text_of(waiting.synchronize()).starts_with("CancelledError");
}

}  // namespace

TEST_SUITE("cuda backend") {
  TEST_CASE("devices are named and described, and have memories of their own") {
    CudaFixture on;
    CHECK(std::string(on.backend->type()) == "GPU");
    CHECK(on.backend->device_count() == 2);
    CHECK(on.backend->space(0) != on.backend->space(1));
    CHECK(on.backend->description(1) ==
          "host emulation of CUDA: emulated GPU 1, 1.0 GiB, compute capability 9.0");
  }

  TEST_CASE("copies go to a device and back in order") {
    CudaFixture on;
    Queue& queue = *on.queues[0];
    CHECK(queue.asynchronous());
    queue.copy(on.memory.get(), on.host.get(), kBytes);
    queue.copy(on.result.get(), on.memory.get(), kBytes);
    CHECK(text_of(queue.synchronize()) == "no error");
    CHECK(on.first_byte() == 7);
  }

  TEST_CASE("work of one queue waits for an event of another") {
    CudaFixture on;
    on.queues[0]->copy(on.memory.get(), on.host.get(), kBytes);
    const auto copied = on.record(*on.queues[0]);
    const auto other = on.backend->make_queue(0, Lane::download);
    other->start(false);
    other->wait(*copied, on.cancellation);
    other->copy(on.result.get(), on.memory.get(), kBytes);
    const auto read = on.record(*other);
    read->await_done(read->use(), &on.cancellation);
    CHECK(read->done());
    CHECK_FALSE(read->failed());
    CHECK(on.first_byte() == 7);
    CHECK(text_of(other->synchronize()) == "no error");
    CHECK(text_of(on.queues[0]->synchronize()) == "no error");
  }

  TEST_CASE("a queue waits for the host's event, and for one that is recorded only later") {
    CudaFixture on;
    HostEvent gate;
    gate.reset();
    gate.set_recorded();
    const auto copied = on.make_event();
    std::thread reader([&] {
      on.queues[1]->wait(*copied, on.cancellation);  // not recorded yet
      on.queues[1]->synchronize();
    });
    std::thread opener([&] { gate.set_done(); });
    on.queues[0]->wait(gate, on.cancellation);
    on.queues[0]->copy(on.memory.get(), on.host.get(), kBytes);
    on.queues[0]->record(*copied);
    reader.join();
    opener.join();
    CHECK(copied->done());
    CHECK(text_of(on.queues[0]->synchronize()) == "no error");
  }

  TEST_CASE("waits end when the run is cancelled") {
    CudaFixture on;
    const auto never = on.make_event();
    std::thread waiter([&] {
      on.queues[0]->wait(*never, on.cancellation);
      never->await_done(never->use(), &on.cancellation);
    });
    on.cancellation.cancel();
    waiter.join();
    CHECK_FALSE(never->done());
    CHECK(text_of(on.queues[0]->synchronize()) == "no error");
  }

  TEST_CASE("a call that CUDA refuses ends the queue and fails what comes after it") {
    CudaFixture on;
    Queue& queue = *on.queues[0];
    const auto before = on.record(queue);
    queue.begin(4, nullptr);
    queue.copy(on.memory.get(), on.host.get(), kBytes + 1);
    queue.end();
    CHECK(queue.failed());
    queue.begin(5, nullptr);
    queue.copy(on.result.get(), on.host.get(), kBytes);
    queue.end();
    const auto after = on.record(queue);
    CHECK_THROWS_WITH_AS(on.queues[1]->wait(*after, on.cancellation),
                         "CancelledError: an operation that this one waits for has failed",
                         errors::CancelledError);
    const auto failed = queue.synchronize();
    REQUIRE(failed.has_value());
    CHECK(failed->instruction == 4);
    CHECK(text_of(failed).find("cudaErrorInvalidValue") != std::string::npos);
    CHECK(text_of(failed).find("cudaMemcpyAsync") != std::string::npos);
    CHECK(on.first_byte() == 0);
    CHECK_FALSE(before->failed());
    CHECK(after->done());
    CHECK(after->failed());

    queue.copy(on.result.get(), on.host.get(), kBytes);  // the queue works again
    CHECK(text_of(queue.synchronize()) == "no error");
    CHECK(on.first_byte() == 7);
  }

  TEST_CASE("wrong data come back with the instruction that found them, and fail later events") {
    CudaFixture on;
    Queue& queue = *on.queues[0];
    queue.copy(on.memory.get(), on.host.get(), kBytes);  // the index is 0x07070707
    const auto before = on.record(queue);
    queue.begin(3, nullptr);
    on.enqueue_gather(queue);
    queue.end();
    queue.begin(8, nullptr);
    const auto after = on.record(queue);
    queue.end();
    CHECK(is_cancelled_by(*after, *on.queues[1]));
    const std::uint64_t use = after->use();
    const auto failed = queue.synchronize();
    REQUIRE(failed.has_value());
    CHECK(failed->instruction == 3);
    CHECK(text_of(failed) == "InvalidArgumentError: index 117901063 is no row");
    CHECK_FALSE(before->failed());
    CHECK(after->failed());
    after->reset();
    CHECK(after->failed_in(use));
    CHECK_FALSE(after->done());
    queue.start(false);  // in the next run the data are right
    queue.record(*after);
    CHECK(text_of(queue.synchronize()) == "no error");
    CHECK_FALSE(after->failed());
  }

  TEST_CASE("wrong data fail the queues that have waited for them, directly or not") {
    CudaFixture on;
    auto& first = static_cast<cuda::CudaQueue&>(*on.queues[0]);
    Queue& second = *on.queues[1];
    const auto third = on.backend->make_queue(0, Lane::download);
    third->start(false);
    first.copy(on.memory.get(), on.host.get(), kBytes);
    std::atomic<bool> open{false};
    const struct Opener {
      std::atomic<bool>& open;
      ~Opener() { open = true; }
    } opener{open};  // also if a check throws
    const auto await_open = [](void* data) {
      while (!*static_cast<std::atomic<bool>*>(data)) std::this_thread::yield();
    };
    first.enqueue(
        [&] { first.device().table().cudaLaunchHostFunc(first.stream(), await_open, &open); });
    on.enqueue_gather(first);
    const auto wrong = on.record(first);
    const auto before = on.record(second);
    second.begin(6, nullptr);
    second.wait(*wrong, on.cancellation);  // in the stream: nobody knows yet
    second.end();
    const auto passed_on = on.record(second);
    third->begin(2, nullptr);
    third->wait(*passed_on, on.cancellation);
    third->end();
    third->begin(3, nullptr);
    on.enqueue_gather(*third);  // may follow from the first
    third->end();
    open = true;
    const auto failed = first.synchronize();
    const auto failed_second = second.synchronize(), failed_third = third->synchronize();
    CHECK(text_of(failed) == "InvalidArgumentError: index 117901063 is no row");
    CHECK(text_of(failed_second).starts_with("CancelledError"));
    CHECK(text_of(failed_third).starts_with("CancelledError"));
    CHECK(failed_second->instruction == 6);
    CHECK(failed_third->instruction == 2);
    CHECK_FALSE(before->failed());
    CHECK(passed_on->failed());
    CHECK(text_of(second.synchronize()) == "no error");
    CHECK(is_cancelled_by(*wrong, second));  // also when the host knows
  }

  TEST_CASE("a queue holds work back until it is flushed, and repeats it as a graph") {
    CudaFixture on({.count = 2, .emulated = true});
    Queue& queue = *on.queues[0];
    const auto third = on.make_event();
    for (char run = 1; run <= 4; ++run) {
      CAPTURE(run);
      std::memset(on.host.get(), run, kBytes);
      queue.start(false);
      if (run > 1) third->reset();
      for (std::size_t i = 0; i < 6; ++i) {
        queue.begin(i, nullptr);
        if (i % 2 == 0)
          queue.copy(on.memory.get(), on.host.get(), kBytes);
        else
          queue.copy(on.result.get(), on.memory.get(), kBytes);
        if (i == 3) queue.record(*third);
        queue.end();
      }
      CHECK_FALSE(third->done());
      std::thread reader([&] {
        on.queues[1]->wait(*third, on.cancellation);
        on.queues[1]->synchronize();
      });
      queue.flush();
      reader.join();
      CHECK(third->done());
      CHECK(text_of(queue.synchronize()) == "no error");
      CHECK(on.first_byte() == run);
    }
  }

  TEST_CASE("a call that CUDA refuses while a graph is captured is the error of its instruction") {
    CudaFixture on({.count = 2, .emulated = true});
    Queue& queue = *on.queues[0];
    for (int run = 0; run < 4; ++run) {
      CAPTURE(run);
      std::memset(on.result.get(), 0, kBytes);
      queue.start(false);
      for (std::size_t i = 0; i < 6; ++i) {
        queue.begin(i, nullptr);
        queue.copy(on.memory.get(), on.host.get(), run > 0 && i == 4 ? kBytes + 1 : kBytes);
        if (i == 2) queue.copy(on.result.get(), on.memory.get(), kBytes);
        queue.end();
      }
      const auto after = on.record(queue);
      const auto failed = queue.synchronize();
      CHECK(on.first_byte() == 7);
      CHECK(after->failed() == (run > 0));
      if (run == 0) continue;
      CHECK(failed->instruction == 4);
      CHECK(text_of(failed).find("cudaErrorInvalidValue") != std::string::npos);
    }
  }

  TEST_CASE("pending accesses: a write comes after the reads of other queues") {
    CudaFixture on;
    PendingAccesses pending;
    on.queues[0]->copy(on.memory.get(), on.host.get(), kBytes);
    const auto written = on.record(*on.queues[0]);
    pending.add_write({written, written->use(), on.queues[0].get()}, false);
    const auto reader = on.backend->make_queue(0, Lane::download);
    reader->start(false);
    pending.await(*reader, false, on.cancellation);
    reader->copy(on.result.get(), on.memory.get(), kBytes);
    const auto read = on.record(*reader);
    pending.add_read({read, read->use(), reader.get()});
    pending.await(*on.queues[0], true, on.cancellation);
    on.queues[0]->copy(on.memory.get(), on.host.get(), kBytes);  // unordered without the wait
    CHECK(text_of(on.queues[0]->synchronize()) == "no error");
    CHECK(text_of(reader->synchronize()) == "no error");
    CHECK(on.first_byte() == 7);
    const EventUse moment{written, written->use()};
    CHECK(moment.over());
    written->reset();
    CHECK(moment.over());
    CHECK_FALSE(moment.failed());
  }

  TEST_CASE(
      "pending accesses: after a cancellation, a queue that has not been told to wait throws") {
    CudaFixture on;
    const auto written = std::make_shared<HostEvent>();  // never recorded
    PendingAccesses pending;
    pending.add_write({written, written->use(), nullptr}, false);
    const auto own = on.backend->make_event();
    PendingAccesses of_gpu;
    of_gpu.add_write({own, own->use(), on.queues[1].get()}, false);
    on.cancellation.abort();
    for (PendingAccesses* accesses : {&pending, &of_gpu}) {
      CHECK_THROWS_WITH_AS(accesses->await(*on.queues[0], false, on.cancellation),
                           "CancelledError: the run was cancelled", errors::CancelledError);
    }
  }

  TEST_CASE("pages of variables are pinned for CUDA, those that exist and later ones") {
    const auto early = allocate_pinned(kBytes);
    CudaFixture on;
    const auto late = allocate_pinned(std::size_t{1} << 20);
    const cuda::Table& table = on.backend->device(0)->table();
    for (const auto& memory : {early, late}) {
      // Work cannot begin before the host's data are there, so pageable memory is read at once;
      // registered memory cannot be registered again.
      CHECK(table.cudaHostRegister(memory.get(), 64, 0) == cudaErrorHostMemoryAlreadyRegistered);
      std::memset(memory.get(), 5, 64);
      on.queues[0]->copy(on.memory.get(), memory.get(), 64);
      on.queues[0]->copy(on.result.get(), on.memory.get(), 64);
      CHECK(text_of(on.queues[0]->synchronize()) == "no error");
      CHECK(on.first_byte() == 5);
    }
  }

  TEST_CASE("the times of instructions are those of their work") {
    CudaFixture on;
    Queue& queue = *on.queues[0];
    queue.start(true);
    Span first, second;
    queue.begin(0, &first);
    queue.copy(on.memory.get(), on.host.get(), kBytes);
    queue.end();
    queue.begin(1, &second);
    queue.copy(on.result.get(), on.memory.get(), kBytes);
    queue.end();
    CHECK(text_of(queue.synchronize()) == "no error");
    CHECK(first.begin > 0);
    CHECK(first.end >= first.begin);
    CHECK(second.begin >= first.end);
    CHECK(second.end >= second.begin);
  }

  TEST_CASE("too much memory is refused with what there is") {
    CudaFixture on;
    CHECK_THROWS_WITH_AS(on.backend->allocate(1, std::size_t{1} << 40),
                         doctest::Contains("/device:GPU:1 is out of memory: 1099511627776 bytes"),
                         errors::ResourceExhaustedError);
  }

  TEST_CASE("work without an order is an error that names it, and a new driver works again") {
    {
      CudaFixture on;
      on.queues[0]->copy(on.memory.get(), on.host.get(), kBytes);
      const auto other = on.backend->make_queue(0, Lane::download);
      other->start(false);
      other->begin(2, nullptr);
      other->copy(on.result.get(), on.memory.get(), kBytes);
      other->end();
      const auto first = on.queues[0]->synchronize(), second = other->synchronize();
      const std::string text = text_of(first) + text_of(second);
      CAPTURE(text);
      CHECK(text.find("CUDA does nothing more in this process") != std::string::npos);
      CHECK(text.find("The emulation found: ") != std::string::npos);
    }
    CudaFixture on;
    on.queues[0]->copy(on.result.get(), on.host.get(), kBytes);
    CHECK(text_of(on.queues[0]->synchronize()) == "no error");
    CHECK(on.first_byte() == 7);
  }

  TEST_CASE("another emulation is refused while one is used") {
    CudaFixture on;
    ConfigProto config;
    config.cuda = {.count = 1, .emulated = true, .seed = 3};
    CHECK_THROWS_AS(make_cuda_backend(config), ValueError);
    config.cuda = {.count = 1, .emulated = true};
    CHECK(make_cuda_backend(config)->device_count() == 1);
    config.gpu_options.visible_device_list = "1";
    CHECK_THROWS_AS(make_cuda_backend(config), ValueError);
  }

  TEST_CASE("a session has the GPUs of the list, in its order") {
    ConfigProto config;
    config.cuda = {.count = 3, .emulated = true};
    config.gpu_options.visible_device_list = "2,0";
    const auto backend = make_cuda_backend(config);
    REQUIRE(backend->device_count() == 2);
    CHECK(backend->description(0).find("emulated GPU 2") != std::string::npos);
    CHECK(backend->description(1).find("emulated GPU 0") != std::string::npos);
    Graph graph;
    CHECK(Session(graph, config).list_devices().size() == 3);
  }
}

}  // namespace towerflow
