#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::Gate;
namespace host = towerflow::cuda::host;

TEST_SUITE("cuda emulation: streams") {
  TEST_CASE("a stream works in order and on its own") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    Gate gate;
    std::vector<int> order;
    CHECK(cuda.run(stream, gate.wait()) == cudaSuccess);
    for (int i = 0; i < 5; ++i) {
      cuda.run(stream, [&order, i] {
        order.push_back(i);
        return cudaSuccess;
      });
    }
    CHECK(cuda.cudaStreamQuery(stream) == cudaErrorNotReady);
    gate.open();
    CHECK(cuda.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
    CHECK(cuda.cudaStreamQuery(stream) == cudaSuccess);
  }

  TEST_CASE("streams do not wait for each other") {
    const Emulation cuda;
    const cudaStream_t first = cuda.stream(), second = cuda.stream();
    Gate gate;
    cuda.run(first, gate.wait());
    bool ran = false;
    cuda.run(second, [&ran] {
      ran = true;
      return cudaSuccess;
    });
    CHECK(cuda.cudaStreamSynchronize(second) == cudaSuccess);
    CHECK(ran);
    CHECK(cuda.cudaStreamQuery(first) == cudaErrorNotReady);
    gate.open();
    CHECK(cuda.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cuda.cudaStreamQuery(first) == cudaSuccess);
  }

  TEST_CASE("delays from a seed change when work runs, not its order in a stream") {
    const Emulation cuda({.seed = 5, .max_delay = 300});
    const cudaStream_t streams[] = {cuda.stream(), cuda.stream()};
    std::vector<int> orders[2];
    for (int i = 0; i < 20; ++i) {
      for (int s = 0; s < 2; ++s) {
        cuda.run(streams[s], [&, s, i] {
          orders[s].push_back(i);
          return cudaSuccess;
        });
      }
    }
    CHECK(cuda.cudaDeviceSynchronize() == cudaSuccess);
    for (const auto& order : orders) {
      REQUIRE(order.size() == 20);
      CHECK(std::is_sorted(order.begin(), order.end()));
    }
  }

  TEST_CASE("stream 0 waits for blocking streams, and they wait for it") {
    const Emulation cuda;
    const cudaStream_t blocking = cuda.stream(cudaStreamDefault), free = cuda.stream();
    Gate gate, later;
    std::vector<int> order;
    const auto note = [&order](int number) {
      return [&order, number] {
        order.push_back(number);
        return cudaSuccess;
      };
    };
    cuda.run(free, later.wait());
    cuda.run(blocking, gate.wait());
    cuda.run(blocking, note(1));
    cuda.run(nullptr, note(2));
    cuda.run(blocking, note(3));
    gate.open();
    CHECK(cuda.cudaStreamSynchronize(blocking) == cudaSuccess);
    CHECK(order == std::vector<int>{1, 2, 3});
    CHECK(cuda.cudaStreamSynchronize(nullptr) == cudaSuccess);
    CHECK(cuda.cudaStreamQuery(free) == cudaErrorNotReady);
    later.open();
  }

  TEST_CASE("destroyed and invented handles are errors, not crashes") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    CHECK(cuda.cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cuda.cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
    CHECK(cuda.cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
    CHECK(cuda.cudaStreamQuery(stream) == cudaErrorInvalidResourceHandle);
    CHECK(cuda.run(stream, nullptr) == cudaErrorInvalidResourceHandle);
    const auto invented = reinterpret_cast<cudaStream_t>(0x1234);
    CHECK(cuda.cudaMemsetAsync(cuda.memory(64), 0, 64, invented) == cudaErrorInvalidResourceHandle);
    CHECK(cuda.cudaStreamDestroy(nullptr) == cudaErrorInvalidResourceHandle);
    CHECK(cuda.stream() != stream);
  }

  TEST_CASE("a destroyed stream does the work that it has") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    Gate gate;
    std::atomic<bool> ran = false;
    cuda.run(stream, gate.wait());
    cuda.run(stream, [&ran] {
      ran = true;
      return cudaSuccess;
    });
    CHECK(cuda.cudaStreamDestroy(stream) == cudaSuccess);
    gate.open();
    CHECK(cuda.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(ran);
  }

  TEST_CASE("flags and priorities") {
    const Emulation cuda;
    cudaStream_t stream = nullptr;
    int least = -1, greatest = 1;
    CHECK(cuda.cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess);
    CHECK(greatest < least);
    CHECK(cuda.cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest) ==
          cudaSuccess);
    CHECK(cuda.cudaStreamCreateWithFlags(&stream, 8) == cudaErrorInvalidValue);
    CHECK(cuda.cudaStreamCreateWithFlags(nullptr, 0) == cudaErrorInvalidValue);
  }

  TEST_CASE("calls in a host function are not permitted") {
    struct Seen {
      const Emulation& cuda;
      cudaError_t status = cudaSuccess, enqueued = cudaSuccess;
    };
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    Seen seen{.cuda = cuda};
    const auto function = [](void* data) {
      auto& out = *static_cast<Seen*>(data);
      void* memory = nullptr;
      out.status = out.cuda.cudaMalloc(&memory, 64);
      out.enqueued = Emulation::run(nullptr, nullptr);
    };
    CHECK(cuda.cudaLaunchHostFunc(stream, function, &seen) == cudaSuccess);
    CHECK(cuda.cudaLaunchHostFunc(stream, nullptr, nullptr) == cudaErrorInvalidValue);
    CHECK(cuda.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(seen.status == cudaErrorNotPermitted);
    CHECK(seen.enqueued == cudaErrorNotPermitted);
  }

  TEST_CASE("a fault appears at the next synchronization and then in all calls") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream(), other = cuda.stream();
    const cudaEvent_t event = cuda.event();
    std::byte* memory = cuda.memory(64);
    std::atomic<bool> ran = false;
    CHECK(cuda.run(stream, [] { return cudaErrorIllegalAddress; }) == cudaSuccess);
    CHECK(cuda.cudaEventRecord(event, stream) == cudaSuccess);
    CHECK(cuda.cudaStreamWaitEvent(other, event, 0) == cudaSuccess);
    CHECK(cuda.run(other, [&ran] {
      ran = true;
      return cudaSuccess;
    }) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(other) == cudaErrorIllegalAddress);
    CHECK_FALSE(ran);
    void* more = nullptr;
    int count = 0;
    CHECK(cuda.cudaMalloc(&more, 64) == cudaErrorIllegalAddress);
    CHECK(cuda.cudaFree(memory) == cudaErrorIllegalAddress);
    CHECK(cuda.cudaGetDeviceCount(&count) == cudaErrorIllegalAddress);
    CHECK(cuda.cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cuda.cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cuda.run(stream, nullptr) == cudaErrorIllegalAddress);
    REQUIRE(host::found_fault());
    CHECK(host::found_fault()->text == "\"work\" in stream 1: failed");
    CHECK(cuda.cudaGetErrorString(cudaErrorIllegalAddress) == host::found_fault()->text);
    CHECK(cuda.cudaGetErrorName(cudaErrorIllegalAddress) == std::string("cudaErrorIllegalAddress"));
  }

  TEST_CASE("an exception of work is a fault with its text") {
    const Emulation cuda;
    const cudaStream_t stream = cuda.stream();
    cuda.run(stream, []() -> cudaError_t { throw std::runtime_error("no such thing"); });
    CHECK(cuda.cudaStreamSynchronize(stream) == cudaErrorUnknown);
    CHECK(host::found_fault()->text == "\"work\" in stream 1: no such thing");
  }

  TEST_CASE("threads use streams at once") {
    const Emulation cuda({.seed = 1, .max_delay = 20});
    std::vector<std::thread> threads;
    std::atomic<int> ran = 0, failed = 0;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          const cudaStream_t stream = cuda.stream();
          const auto count = [&ran] {
            ++ran;
            return cudaSuccess;
          };
          failed += cuda.run(stream, count) != cudaSuccess;
          failed += cuda.cudaStreamSynchronize(stream) != cudaSuccess;
          failed += cuda.cudaStreamDestroy(stream) != cudaSuccess;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(ran == 80);
    CHECK(failed == 0);
  }
}
