#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::Gate;

TEST_SUITE("cuda emulation: events") {
  TEST_CASE("a stream waits for an event of another") {
    const Emulation cuda;
    const cudaStream_t first = cuda.stream(), second = cuda.stream();
    const cudaEvent_t event = cuda.event();
    Gate gate;
    std::atomic<int> value = 0;
    int seen = -1;
    cuda.run(first, gate.wait());
    cuda.run(first, [&value] {
      value = 1;
      return cudaSuccess;
    });
    CHECK(cuda.cudaEventRecord(event, first) == cudaSuccess);
    CHECK(cuda.cudaStreamWaitEvent(second, event, 0) == cudaSuccess);
    cuda.run(second, [&] {
      seen = value;
      return cudaSuccess;
    });
    CHECK(cuda.cudaEventQuery(event) == cudaErrorNotReady);
    CHECK(cuda.cudaStreamQuery(second) == cudaErrorNotReady);
    gate.open();
    CHECK(cuda.cudaEventSynchronize(event) == cudaSuccess);
    CHECK(cuda.cudaEventQuery(event) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(second) == cudaSuccess);
    CHECK(seen == 1);
  }

  TEST_CASE("a wait is for the record before it, whatever is recorded later") {
    const Emulation cuda;
    const cudaStream_t first = cuda.stream(), second = cuda.stream();
    const cudaEvent_t event = cuda.event();
    Gate gate;
    CHECK(cuda.cudaEventRecord(event, first) == cudaSuccess);
    CHECK(cuda.cudaStreamWaitEvent(second, event, 0) == cudaSuccess);
    cuda.run(first, gate.wait());
    CHECK(cuda.cudaEventRecord(event, first) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(second) == cudaSuccess);
    CHECK(cuda.cudaEventQuery(event) == cudaErrorNotReady);
    gate.open();
  }

  TEST_CASE("an event that was never recorded is over") {
    const Emulation cuda;
    const cudaEvent_t event = cuda.event();
    CHECK(cuda.cudaEventQuery(event) == cudaSuccess);
    CHECK(cuda.cudaEventSynchronize(event) == cudaSuccess);
    CHECK(cuda.cudaStreamWaitEvent(cuda.stream(), event, 0) == cudaSuccess);
  }

  TEST_CASE("an event may be destroyed while streams wait for it") {
    const Emulation cuda;
    const cudaStream_t first = cuda.stream(), second = cuda.stream();
    const cudaEvent_t event = cuda.event();
    Gate gate;
    cuda.run(first, gate.wait());
    cuda.cudaEventRecord(event, first);
    cuda.cudaStreamWaitEvent(second, event, 0);
    CHECK(cuda.cudaEventDestroy(event) == cudaSuccess);
    CHECK(cuda.cudaStreamQuery(second) == cudaErrorNotReady);
    gate.open();
    CHECK(cuda.cudaStreamSynchronize(second) == cudaSuccess);
  }

  TEST_CASE("null, destroyed and invented events give 400") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    const cudaEvent_t event = cuda.event();
    CHECK(cuda.cudaEventDestroy(event) == cudaSuccess);
    const auto invented = reinterpret_cast<cudaEvent_t>(0x5678);
    for (const cudaEvent_t wrong :
         {event, invented, cudaEvent_t{nullptr}, reinterpret_cast<cudaEvent_t>(stream)}) {
      CHECK(cuda.cudaEventRecord(wrong, stream) == cudaErrorInvalidResourceHandle);
      CHECK(cuda.cudaEventQuery(wrong) == cudaErrorInvalidResourceHandle);
      CHECK(cuda.cudaEventSynchronize(wrong) == cudaErrorInvalidResourceHandle);
      CHECK(cuda.cudaStreamWaitEvent(stream, wrong, 0) == cudaErrorInvalidResourceHandle);
      CHECK(cuda.cudaEventDestroy(wrong) == cudaErrorInvalidResourceHandle);
    }
  }

  TEST_CASE("times between events") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    const cudaEvent_t begin = cuda.event(cudaEventDefault), end = cuda.event(cudaEventDefault);
    const cudaEvent_t untimed = cuda.event();
    float milliseconds = 0;
    CHECK(cuda.cudaEventElapsedTime(&milliseconds, begin, end) == cudaErrorInvalidResourceHandle);
    cuda.cudaEventRecord(untimed, stream);
    cuda.cudaEventRecord(begin, stream);
    Gate gate;
    cuda.run(stream, gate.wait());
    cuda.run(stream, [] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return cudaSuccess;
    });
    cuda.cudaEventRecord(end, stream);
    CHECK(cuda.cudaEventElapsedTime(&milliseconds, begin, end) == cudaErrorNotReady);
    gate.open();
    CHECK(cuda.cudaEventSynchronize(end) == cudaSuccess);
    CHECK(cuda.cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess);
    CHECK(milliseconds >= 5);
    CHECK(cuda.cudaEventElapsedTime(&milliseconds, untimed, end) == cudaErrorInvalidResourceHandle);
  }

  TEST_CASE("an event is recorded in streams of its own device, and waited for in all") {
    const Emulation cuda({.devices = 2, .memory = 1 << 20});
    const cudaEvent_t event = cuda.event();
    const cudaStream_t first = cuda.stream();
    cuda.cudaSetDevice(1);
    const cudaStream_t second = cuda.stream();
    CHECK(cuda.cudaEventRecord(event, second) == cudaErrorInvalidResourceHandle);
    CHECK(cuda.cudaEventRecord(event, first) == cudaSuccess);
    CHECK(cuda.cudaStreamWaitEvent(second, event, 0) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(second) == cudaSuccess);
  }
}
