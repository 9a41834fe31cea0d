#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::host::found_fault;
using towerflow::cuda::host::OrderError;

namespace {

/// Whatever the timing: without delays, and with several.
template <class Test>
void for_seeds(Test test) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    CAPTURE(seed);
    const Emulation cuda({.devices = 2, .memory = 1 << 20, .seed = seed, .max_delay = 300});
    test(cuda);
  }
}

bool is_ordered(const Emulation& cuda) {
  const cudaError_t first = cuda.cudaDeviceSynchronize();
  CHECK((first == cudaSuccess) == !found_fault().has_value());
  return first == cudaSuccess;
}

/// Waits for the end of a stream's work without CUDA: nothing is ordered by it, but nothing goes
/// wrong, and ThreadSanitizer has nothing to report.
void end_of(const Emulation& cuda, cudaStream_t stream) {
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  cuda.run(stream, [ended] {
    *ended = true;
    return cudaSuccess;
  });
  while (!*ended && !found_fault()) std::this_thread::yield();
}

}  // namespace

TEST_SUITE("cuda emulation: order") {
  TEST_CASE("two writes of streams that do not wait") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t first = cuda.stream(), second = cuda.stream();
      const std::byte* memory = cuda.memory(1024);
      CHECK(cuda.write(first, memory, 512, "scale") == cudaSuccess);
      CHECK(cuda.write(second, memory + 256, 512, "add") == cudaSuccess);
      CHECK(cuda.cudaDeviceSynchronize() == cudaErrorUnknown);
      void* more = nullptr;
      CHECK(cuda.cudaMalloc(&more, 1) == cudaErrorUnknown);
      REQUIRE(found_fault());
      REQUIRE(found_fault()->order);
      OrderError error = *found_fault()->order;
      if (error.first->what == "add") std::swap(error.first, error.second);
      CHECK(error.first->what == "scale");
      CHECK(error.first->where == "stream 1 of device 0");
      CHECK(error.second->what == "add");
      CHECK(error.second->where == "stream 2 of device 0");
      CHECK(error.first_writes);
      CHECK(error.second_writes);
      CHECK(error.at == memory + 256);
      CHECK(error.bytes == 256);
      CHECK(cuda.cudaGetErrorString(cudaErrorUnknown) == found_fault()->text);
    });
  }

  TEST_CASE("the text names both pieces of work, both streams and the range") {
    const Emulation cuda;
    const cudaStream_t first = cuda.stream(), second = cuda.stream();
    const std::byte* memory = cuda.memory(64);
    cuda.write(first, memory, 64, "scale");
    cuda.cudaStreamQuery(second);
    cuda.read(second, memory, 64, "add");
    CHECK(cuda.cudaDeviceSynchronize() == cudaErrorUnknown);
    const std::string text = found_fault()->text;
    CAPTURE(text);
    CHECK(text.find("unordered accesses to 64 bytes at 0x") == 0);
    CHECK(text.find("\"scale\" in stream 1 writes them") != std::string::npos);
    CHECK(text.find("\"add\" in stream 2 reads them") != std::string::npos);
  }

  TEST_CASE("a read after a write, and a write after a read") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t first = cuda.stream(), second = cuda.stream();
      const std::byte* memory = cuda.memory(64);
      SUBCASE("read after write") {
        cuda.write(first, memory, 64);
        cuda.read(second, memory + 63, 1);
      }
      SUBCASE("write after read") {
        cuda.read(first, memory, 64);
        cuda.write(second, memory, 1);
      }
      CHECK_FALSE(is_ordered(cuda));
    });
  }

  TEST_CASE("what is no conflict") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t first = cuda.stream(), second = cuda.stream();
      const std::byte* memory = cuda.memory(1024);
      cuda.read(first, memory, 256);
      cuda.read(second, memory, 256);        // two reads
      cuda.write(first, memory + 256, 256);  // neighbours
      cuda.write(second, memory + 512, 256);
      cuda.write(first, memory + 256, 256);  // one stream
      CHECK(is_ordered(cuda));
    });
  }

  TEST_CASE("an event orders what comes before its record and after the wait") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t first = cuda.stream(), second = cuda.stream();
      const cudaEvent_t event = cuda.event();
      const std::byte* memory = cuda.memory(64);
      cuda.write(first, memory, 64);
      cuda.cudaEventRecord(event, first);
      cuda.cudaStreamWaitEvent(second, event, 0);
      cuda.write(second, memory, 64);
      CHECK(is_ordered(cuda));
      // The event says nothing about what follows it.
      cuda.write(first, memory, 64);
      cuda.cudaStreamWaitEvent(second, event, 0);
      cuda.write(second, memory, 64);
      CHECK_FALSE(is_ordered(cuda));
    });
  }

  TEST_CASE("the wait is missing, after the event") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t first = cuda.stream(), second = cuda.stream();
      const cudaEvent_t event = cuda.event();
      const std::byte* memory = cuda.memory(64);
      cuda.write(first, memory, 64);
      cuda.cudaEventRecord(event, first);
      cuda.write(second, memory, 64);
      cuda.cudaStreamWaitEvent(second, event, 0);
      CHECK_FALSE(is_ordered(cuda));
    });
  }

  TEST_CASE("order passes on over a third stream and over devices") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t first = cuda.stream();
      const cudaEvent_t event = cuda.event();
      cuda.cudaSetDevice(1);
      const cudaStream_t second = cuda.stream();
      const cudaEvent_t other = cuda.event();
      cuda.cudaSetDevice(0);
      const cudaStream_t third = cuda.stream();
      const std::byte* memory = cuda.memory(64);
      cuda.write(first, memory, 64);
      cuda.cudaEventRecord(event, first);
      cuda.cudaStreamWaitEvent(second, event, 0);
      cuda.cudaEventRecord(other, second);
      cuda.cudaStreamWaitEvent(third, other, 0);
      cuda.write(third, memory, 64);
      CHECK(is_ordered(cuda));
    });
  }

  TEST_CASE("the host orders work when it waits for the first piece") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t first = cuda.stream(), second = cuda.stream();
      const cudaEvent_t event = cuda.event();
      const std::byte* memory = cuda.memory(64);
      const auto write_both = [&](auto wait) {
        cuda.write(first, memory, 64);
        cuda.cudaEventRecord(event, first);
        wait();
        cuda.write(second, memory, 64);
        cuda.cudaStreamSynchronize(second);
      };
      write_both([&] { cuda.cudaStreamSynchronize(first); });
      write_both([&] { cuda.cudaEventSynchronize(event); });
      write_both([&] { cuda.cudaDeviceSynchronize(); });
      write_both([&] {
        while (cuda.cudaEventQuery(event) == cudaErrorNotReady) {
        }
      });
      write_both([&] {
        while (cuda.cudaStreamQuery(first) == cudaErrorNotReady) {
        }
      });
      CHECK(is_ordered(cuda));
      write_both([&] { cuda.cudaStreamSynchronize(second); });
      CHECK_FALSE(is_ordered(cuda));
    });
  }

  TEST_CASE("stream 0 orders blocking streams, not others") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t blocking = cuda.stream(cudaStreamDefault), free = cuda.stream();
      const std::byte* memory = cuda.memory(64);
      cuda.write(blocking, memory, 64);
      cuda.write(nullptr, memory, 64);
      cuda.write(blocking, memory, 64);
      CHECK(is_ordered(cuda));
      cuda.write(nullptr, memory, 64);
      cuda.write(free, memory, 64);
      CHECK_FALSE(is_ordered(cuda));
    });
  }

  TEST_CASE("kernels are ordered by what they access") {
    for_seeds([](const Emulation& cuda) {
      cudaLibrary_t library = nullptr;
      cudaKernel_t kernel = nullptr;
      cuda.cudaLibraryLoadData(&library, "// PTX", nullptr, nullptr, 0, nullptr, nullptr, 0);
      REQUIRE(cuda.cudaLibraryGetKernel(&kernel, library, "runtime_test_add") == cudaSuccess);
      auto* memory = static_cast<std::byte*>(cuda.memory(4096));
      const auto launch = [&](cudaStream_t stream, void* values) {
        int number = 1;
        void* arguments[] = {&values, &number};
        cudaLaunchConfig_t config{};
        config.gridDim = 1;
        config.blockDim = 64;
        config.stream = stream;
        CHECK(cuda.cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments) ==
              cudaSuccess);
      };
      // The same memory, but not the same bytes of it.
      const cudaStream_t first = cuda.stream(), second = cuda.stream();
      launch(first, memory);
      launch(second, memory + 256);
      CHECK(is_ordered(cuda));
      launch(first, memory + 512);
      end_of(cuda, first);
      launch(second, memory + 764);
      CHECK_FALSE(is_ordered(cuda));
      REQUIRE(found_fault()->order);
      CHECK(found_fault()->order->at == memory + 764);
      CHECK(found_fault()->order->bytes == 4);
      CHECK(found_fault()->order->first->what == "kernel runtime_test_add");
    });
  }

  TEST_CASE("copies and memsets are ordered too, and pinned memory") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t first = cuda.stream(), second = cuda.stream();
      std::byte* memory = cuda.memory(64);
      std::byte* other = cuda.memory(64);
      std::byte* pinned = cuda.pinned(64);
      SUBCASE("memset and copy") {
        cuda.cudaMemsetAsync(memory, 0, 64, first);
        end_of(cuda, first);
        cuda.cudaMemcpyAsync(other, memory, 64, cudaMemcpyDeviceToDevice, second);
      }
      SUBCASE("pinned memory") {
        cuda.cudaMemcpyAsync(pinned, memory, 64, cudaMemcpyDeviceToHost, first);
        end_of(cuda, first);
        cuda.cudaMemcpyAsync(other, pinned, 64, cudaMemcpyHostToDevice, second);
      }
      CHECK_FALSE(is_ordered(cuda));
    });
  }

  TEST_CASE("memory is freed while unordered work uses it") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t stream = cuda.stream();
      std::byte* memory = cuda.memory(64);
      std::byte* pinned = cuda.pinned(64);
      cudaError_t status = cudaSuccess;
      const char* call = "cudaFree";
      SUBCASE("read by a kernel") {
        cuda.read(stream, memory, 64);
        status = cuda.cudaFree(memory);
      }
      SUBCASE("written by a kernel") {
        cuda.write(stream, memory + 1, 1);
        status = cuda.cudaFree(memory);
      }
      SUBCASE("pinned") {
        cuda.cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyHostToDevice, stream);
        status = cuda.cudaFreeHost(pinned);
        call = "cudaFreeHost";
      }
      CHECK(status == cudaErrorUnknown);
      REQUIRE(found_fault());
      REQUIRE(found_fault()->order);
      CHECK(found_fault()->order->second->what == call);
      CHECK(found_fault()->order->second->where == "the host");
    });
  }

  TEST_CASE("memory may be freed when the host has waited") {
    for_seeds([](const Emulation& cuda) {
      const cudaStream_t stream = cuda.stream();
      std::byte* memory = cuda.memory(64);
      cuda.write(stream, memory, 64);
      cuda.cudaStreamSynchronize(stream);
      CHECK(cuda.cudaFree(memory) == cudaSuccess);
      CHECK(is_ordered(cuda));
    });
  }

  TEST_CASE("a stream after the end of one that nobody waited for") {
    const Emulation cuda;
    const std::byte* memory = cuda.memory(64);
    const cudaStream_t first = cuda.stream();
    cuda.write(first, memory, 64);
    end_of(cuda, first);
    cuda.cudaStreamDestroy(first);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // its thread has ended
    cuda.write(cuda.stream(), memory, 64);
    CHECK_FALSE(is_ordered(cuda));
  }

  TEST_CASE("a stream in the place of a destroyed one has an order of its own") {
    for_seeds([](const Emulation& cuda) {
      const std::byte* memory = cuda.memory(64);
      for (int i = 0; i < 5; ++i) {
        const cudaStream_t stream = cuda.stream();
        cuda.write(stream, memory, 64);
        cuda.cudaStreamSynchronize(stream);
        cuda.cudaStreamDestroy(stream);
      }
      CHECK(is_ordered(cuda));
      const cudaStream_t last = cuda.stream();
      cuda.write(last, memory, 64);
      cuda.cudaStreamDestroy(last);
      cuda.write(cuda.stream(), memory, 64);
      CHECK_FALSE(is_ordered(cuda));
    });
  }
}
