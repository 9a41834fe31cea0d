// Queues of simulated accelerators run asynchronously and in order, and finish even after errors.
#include "core/device/sim/sim_queue.h"

#include <doctest/doctest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "core/device/pending_accesses.h"
#include "core/device/sim/sim_backend.h"

namespace towerflow {
namespace {

struct Fixture {
  explicit Fixture(SimulatedDevices options = {.count = 2, .latency = 0}) : backend(options) {
    for (int i = 0; i < 2; ++i) {
      queues.push_back(backend.make_queue(i, Lane::upload));
      queues.back()->start(false);
    }
    host = backend.allocate_staging(64);
    std::memset(host.get(), 7, 64);
    memory = backend.allocate(0, 64);
  }
  /// Returns an event that is recorded but not done, so that work that waits for it cannot start.
  std::shared_ptr<HostEvent> recorded() {
    auto event = std::make_shared<HostEvent>();
    event->reset();
    event->set_recorded();
    return event;
  }
  /// The event must live until the queue has recorded it.
  [[nodiscard]] std::shared_ptr<Event> record(Queue& queue) {
    auto event = backend.make_event();
    event->reset();
    queue.record(*event);
    return event;
  }
  char first_byte() const {
    return *backend.memory(0).to_host_address(static_cast<const char*>(memory.get()));
  }

  SimBackend backend;
  std::vector<std::unique_ptr<Queue>> queues;
  std::shared_ptr<void> host, memory;
  Cancellation cancellation;
};

std::string message(const std::optional<QueueError>& failed) {
  if (!failed) return "no error";
  try {
    std::rethrow_exception(failed->error);
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST_CASE("simulated queue: a copy returns before it is done, and waits for what it comes after") {
  Fixture on;
  const auto gate = on.recorded();
  Queue& queue = *on.queues[0];
  CHECK(queue.asynchronous());
  queue.wait(*gate, on.cancellation);
  queue.copy(on.memory.get(), on.host.get(), 64);
  const auto after = on.record(queue);
  CHECK_FALSE(after->done());
  CHECK(on.first_byte() == 0);
  gate->set_done();
  after->await_done(after->use(), &on.cancellation);
  CHECK(on.first_byte() == 7);
  CHECK_FALSE(after->failed());
  CHECK(message(queue.synchronize()) == "no error");
}

TEST_CASE("simulated queue: the time of an instruction is that of its copy, not of its record") {
  Fixture on({.count = 2, .latency = 2e-3});
  Queue& queue = *on.queues[0];
  Span copy, record;
  queue.begin(0, &copy);
  queue.copy(on.memory.get(), on.host.get(), 64);
  const auto after_copy = on.record(queue);
  queue.end();
  queue.begin(1, &record);
  const auto after_record = on.record(queue);
  queue.end();
  CHECK(message(queue.synchronize()) == "no error");
  CHECK(copy.virtual_begin == 0);
  CHECK(copy.virtual_end >= 2e-3);
  CHECK(record.virtual_begin == copy.virtual_end);
  CHECK(record.virtual_end == record.virtual_begin);
}

TEST_CASE("simulated queue: an error names its instruction, and fails what waits for it") {
  Fixture on;
  Queue &first = *on.queues[0], &second = *on.queues[1];
  std::vector<char> pageable(64);
  first.begin(4, nullptr);
  first.copy(on.memory.get(), pageable.data(), 64);
  first.end();
  first.begin(5, nullptr);
  first.copy(on.memory.get(), on.host.get(), 64);
  first.end();
  const auto after = on.record(first);
  second.begin(9, nullptr);
  second.wait(*after, on.cancellation);
  second.end();
  second.begin(10, nullptr);
  second.copy(on.memory.get(), on.host.get(), 64);
  second.end();
  const auto waiting = second.synchronize();
  CHECK(message(waiting) == "CancelledError: an operation that this one waits for has failed");
  CHECK(waiting.value().instruction == 9);
  CHECK(after->failed());
  const auto failed = first.synchronize();
  CHECK(message(failed).find("pageable memory of the host") != std::string::npos);
  CHECK(failed.value().instruction == 4);
  CHECK(on.first_byte() == 0);

  first.copy(on.memory.get(), on.host.get(), 64);  // the queue works again after an error
  CHECK(message(first.synchronize()) == "no error");
  CHECK(on.first_byte() == 7);
}

TEST_CASE("simulated queue: after an error, what comes later still waits for others") {
  Fixture on;
  const auto gate = on.recorded();
  Queue& queue = *on.queues[0];
  std::vector<char> pageable(64);
  queue.copy(on.memory.get(), pageable.data(), 64);
  queue.wait(*gate, on.cancellation);
  const auto after = on.record(queue);
  while (!queue.failed()) std::this_thread::yield();
  CHECK_FALSE(after->done());
  gate->set_done();
  CHECK(message(queue.synchronize()) != "no error");
  CHECK(after->failed());
}

TEST_CASE("pending accesses: a write comes after all reads, a read after the write") {
  Fixture on;
  PendingAccesses pending;
  const auto read = on.recorded(), write = on.recorded();
  Queue &first = *on.queues[0], &second = *on.queues[1];
  pending.add_read({read, read->use(), nullptr});
  pending.await(first, false, on.cancellation);  // another read does not wait
  CHECK(message(first.synchronize()) == "no error");
  pending.await(first, true, on.cancellation);
  const auto written = on.record(first);
  CHECK_FALSE(written->done());
  read->set_done(true);  // it failed, but the write only waits for its end
  CHECK(message(first.synchronize()) == "no error");
  CHECK(written->done());

  pending.add_write({write, write->use(), &first}, false);
  pending.await(first, true, on.cancellation);  // one queue runs in order anyway
  CHECK(message(first.synchronize()) == "no error");
  pending.await(second, false, on.cancellation);
  const auto seen = on.record(second);
  CHECK_FALSE(seen->done());
  CHECK_FALSE(pending.drop_failed_writes().has_value());  // it may still succeed
  write->set_done(true);
  CHECK(message(second.synchronize()) == "CancelledError: an operation of another run has failed");
  const auto valid = pending.drop_failed_writes();
  REQUIRE(valid.has_value());
  CHECK_FALSE(*valid);  // the failed write was the first value
  CHECK_FALSE(pending.drop_failed_writes().has_value());
  pending.await(second, false, on.cancellation);
  CHECK(message(second.synchronize()) == "no error");
}

TEST_CASE("a moment is over when its event is used again") {
  Fixture on;
  const auto event = on.recorded();
  const EventUse moment{event, event->use()};
  CHECK_FALSE(moment.over());
  event->reset();
  CHECK(moment.over());
  CHECK_FALSE(moment.failed());
}

}  // namespace
}  // namespace towerflow
