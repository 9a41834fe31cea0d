#include <doctest/doctest.h>

#include <thread>

#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::Gate;
namespace host = towerflow::cuda::host;

namespace {

constexpr cudaStreamCaptureMode kModes[] = {
    cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed};

/// A program in the middle of a capture, with all that the table of docs/cuda.md needs.
struct Capturing {
  explicit Capturing(cudaStreamCaptureMode mode, unsigned flags = cudaStreamNonBlocking)
      : captured(cuda.stream(flags)) {
    cuda.cudaEventRecord(before, other);
    cuda.cudaStreamSynchronize(other);
    REQUIRE(cuda.cudaStreamBeginCapture(captured, mode) == cudaSuccess);
    REQUIRE(cuda.run(captured, nullptr) == cudaSuccess);
    REQUIRE(cuda.cudaEventRecord(inside, captured) == cudaSuccess);
  }

  /// Returns what the end of the capture gives: 0, or 901 if it was invalidated.
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cuda.cudaStreamEndCapture(captured, &graph);
    CHECK((graph != nullptr) == (status == cudaSuccess));
    // In any case the stream works again.
    CHECK(cuda.run(captured, nullptr) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(captured) == cudaSuccess);
    return status;
  }

  const Emulation cuda{};
  cudaStream_t captured, other = cuda.stream(), third = cuda.stream();
  cudaEvent_t before = cuda.event(), inside = cuda.event();
  std::byte* memory = cuda.memory(64);
  std::byte* pinned = cuda.pinned(64);
  std::vector<std::byte> pageable = std::vector<std::byte>(64);
};

using Call = std::function<cudaError_t(Capturing&)>;
struct Row {
  const char* name;
  Call call;
};

template <class Function>
cudaError_t in_another_thread(Function function) {
  cudaError_t status = cudaSuccess;
  std::thread([&] { status = function(); }).join();
  return status;
}

/// Checks what a call returns in each mode, and that it invalidates the capture if it is no
/// success.
void check_row(const Row& row, const int (&expected)[3], bool harmless = false,
               bool other_thread = false) {
  CAPTURE(row.name);
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    Capturing during(kModes[i]);
    const cudaError_t status =
        other_thread ? in_another_thread([&] { return row.call(during); }) : row.call(during);
    CHECK(status == expected[i]);
    CHECK(during.end() ==
          (expected[i] == 0 || harmless ? cudaSuccess : cudaErrorStreamCaptureInvalidated));
  }
}

cudaGraphExec_t some_graph(const Emulation& cuda, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cuda.cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cuda.run(stream, nullptr);
  cuda.cudaStreamEndCapture(stream, &graph);
  cuda.cudaGraphInstantiate(&executable, graph, 0);
  return executable;
}

const Row kUnsafe[] = {
    {"synchronize another stream",
     [](Capturing& c) { return c.cuda.cudaStreamSynchronize(c.other); }},
    {"query another stream", [](Capturing& c) { return c.cuda.cudaStreamQuery(c.other); }},
    {"synchronize an event", [](Capturing& c) { return c.cuda.cudaEventSynchronize(c.before); }},
    {"query an event", [](Capturing& c) { return c.cuda.cudaEventQuery(c.before); }},
    {"cudaMalloc",
     [](Capturing& c) {
       void* memory = nullptr;
       return c.cuda.cudaMalloc(&memory, 64);
     }},
    {"cudaFree", [](Capturing& c) { return c.cuda.cudaFree(c.memory); }},
    {"cudaHostAlloc",
     [](Capturing& c) {
       void* memory = nullptr;
       return c.cuda.cudaHostAlloc(&memory, 64, 0);
     }},
    {"cudaFreeHost", [](Capturing& c) { return c.cuda.cudaFreeHost(c.pinned); }},
    {"cudaHostRegister",
     [](Capturing& c) { return c.cuda.cudaHostRegister(c.pageable.data(), 64, 0); }},
    {"cudaGraphInstantiate",
     [](Capturing& c) {
       // The graph is from before the capture, which some_graph cannot make in the middle of one.
       cudaGraphExec_t executable = nullptr;
       cudaGraph_t graph = nullptr;
       c.cuda.cudaStreamBeginCapture(c.third, cudaStreamCaptureModeRelaxed);
       c.cuda.cudaStreamEndCapture(c.third, &graph);
       return c.cuda.cudaGraphInstantiate(&executable, graph, 0);
     }},
};

}  // namespace

TEST_SUITE("cuda emulation: capture") {
  TEST_CASE("the captured stream cannot be waited for") {
    const Row rows[] = {
        {"synchronize", [](Capturing& c) { return c.cuda.cudaStreamSynchronize(c.captured); }},
        {"query", [](Capturing& c) { return c.cuda.cudaStreamQuery(c.captured); }},
        {"destroy", [](Capturing& c) { return c.cuda.cudaStreamDestroy(c.captured); }},
        {"cudaDeviceSynchronize", [](Capturing& c) { return c.cuda.cudaDeviceSynchronize(); }},
    };
    for (const Row& row : rows) check_row(row, {900, 900, 900});
  }

  TEST_CASE("no graph is launched or uploaded into a captured stream") {
    for (const cudaStreamCaptureMode mode : kModes) {
      for (const bool upload : {false, true}) {
        const Emulation cuda;
        const cudaStream_t stream = cuda.stream();
        const cudaGraphExec_t executable = some_graph(cuda, stream);
        REQUIRE(cuda.cudaStreamBeginCapture(stream, mode) == cudaSuccess);
        CHECK((upload ? cuda.cudaGraphUpload(executable, stream)
                      : cuda.cudaGraphLaunch(executable, stream)) == 900);
        cudaGraph_t graph = nullptr;
        CHECK(cuda.cudaStreamEndCapture(stream, &graph) == 901);
      }
    }
  }

  TEST_CASE("calls that only the relaxed mode allows") {
    for (const Row& row : kUnsafe) check_row(row, {900, 900, 0});
  }

  TEST_CASE("the same calls from another thread") {
    for (const Row& row : kUnsafe) check_row(row, {900, 0, 0}, false, true);
  }

  TEST_CASE("events recorded in the capture") {
    const Row synchronize = {"synchronize",
                             [](Capturing& c) { return c.cuda.cudaEventSynchronize(c.inside); }};
    const Row query = {"query", [](Capturing& c) { return c.cuda.cudaEventQuery(c.inside); }};
    check_row(synchronize, {907, 907, 907});
    check_row(query, {907, 907, 907});
  }

  TEST_CASE("events recorded before the capture") {
    const Row wait = {
        "wait", [](Capturing& c) { return c.cuda.cudaStreamWaitEvent(c.captured, c.before, 0); }};
    const Row external = {"wait outside of the graph", [](Capturing& c) {
                            return c.cuda.cudaStreamWaitEvent(c.captured, c.before,
                                                              cudaEventWaitExternal);
                          }};
    check_row(wait, {905, 905, 905});
    check_row(external, {0, 0, 0});
  }

  TEST_CASE("a launch over a limit, or of what is no kernel") {
    const Row row = {"launch", [](Capturing& c) {
                       cudaLaunchConfig_t config{};
                       config.stream = c.captured;
                       return c.cuda.cudaLaunchKernelExC(&config, nullptr, nullptr);
                     }};
    check_row(row, {98, 98, 98});
  }

  TEST_CASE("errors that harm no capture") {
    const Row copy = {"copy in the wrong direction", [](Capturing& c) {
                        return c.cuda.cudaMemcpyAsync(c.pageable.data(), c.memory, 64,
                                                      cudaMemcpyHostToDevice, c.captured);
                      }};
    const Row begin = {"begin again", [](Capturing& c) {
                         return c.cuda.cudaStreamBeginCapture(c.captured,
                                                              cudaStreamCaptureModeRelaxed);
                       }};
    check_row(copy, {1, 1, 1}, true);
    check_row(begin, {401, 401, 401}, true);
  }

  TEST_CASE("the end of a forked stream is not the end of the capture") {
    const Row row = {"end of a fork", [](Capturing& c) {
                       cudaGraph_t graph = nullptr;
                       CHECK(c.cuda.cudaStreamWaitEvent(c.other, c.inside, 0) == cudaSuccess);
                       return c.cuda.cudaStreamEndCapture(c.other, &graph);
                     }};
    check_row(row, {903, 903, 903});
  }

  TEST_CASE("a fork that is not joined") {
    for (const cudaStreamCaptureMode mode : kModes) {
      Capturing during(mode);
      CHECK(during.cuda.cudaStreamWaitEvent(during.other, during.inside, 0) == cudaSuccess);
      CHECK(during.cuda.run(during.other, nullptr) == cudaSuccess);
      CHECK(during.end() == cudaErrorStreamCaptureUnjoined);
      CHECK(during.cuda.cudaStreamSynchronize(during.other) == cudaSuccess);
    }
  }

  TEST_CASE("the end in another thread") {
    const int expected[] = {908, 908, 0};
    for (int i = 0; i < 3; ++i) {
      Capturing during(kModes[i]);
      cudaGraph_t graph = nullptr;
      CHECK(in_another_thread([&] {
              return during.cuda.cudaStreamEndCapture(during.captured, &graph);
            }) == expected[i]);
      CHECK((graph != nullptr) == (expected[i] == 0));
      if (expected[i] != 0) CHECK(during.end() == cudaErrorStreamCaptureInvalidated);
    }
  }

  TEST_CASE("stream 0 while a stream is captured") {
    for (const cudaStreamCaptureMode mode : kModes) {
      for (const bool other_thread : {false, true}) {
        const auto use = [&](Capturing& during) {
          const auto set = [&] {
            return during.cuda.cudaMemsetAsync(during.memory, 0, 64, nullptr);
          };
          return other_thread ? in_another_thread(set) : set();
        };
        Capturing blocking(mode, cudaStreamDefault);
        CHECK(use(blocking) == cudaErrorStreamCaptureImplicit);
        CHECK(blocking.cuda.run(blocking.captured, nullptr) == cudaErrorStreamCaptureInvalidated);
        cudaStreamCaptureStatus status{};
        CHECK(blocking.cuda.cudaStreamIsCapturing(blocking.captured, &status) == cudaSuccess);
        CHECK(status == cudaStreamCaptureStatusInvalidated);
        CHECK(blocking.end() == cudaErrorStreamCaptureInvalidated);

        Capturing free(mode);
        CHECK(use(free) == cudaSuccess);
        CHECK(free.end() == cudaSuccess);
        CHECK(free.cuda.cudaStreamSynchronize(nullptr) == cudaSuccess);
        CHECK(static_cast<unsigned char*>(host::host_address(free.memory))[0] == 0);
      }
    }
  }

  TEST_CASE("stream 0 is not captured") {
    const Emulation cuda;
    for (const cudaStreamCaptureMode mode : kModes) {
      CHECK(cuda.cudaStreamBeginCapture(nullptr, mode) == cudaErrorStreamCaptureUnsupported);
    }
  }

  TEST_CASE("what is allowed in all modes") {
    for (const cudaStreamCaptureMode mode : kModes) {
      Capturing during(mode);
      std::size_t free = 0, total = 0;
      CHECK(during.cuda.cudaMemGetInfo(&free, &total) == cudaSuccess);
      CHECK(during.cuda.stream() != nullptr);
      CHECK(during.cuda.event() != nullptr);
      CHECK(in_another_thread([&] { return during.cuda.run(during.captured, nullptr); }) ==
            cudaSuccess);
      CHECK(during.cuda.run(during.other, nullptr) == cudaSuccess);
      CHECK(during.end() == cudaSuccess);
    }
  }

  TEST_CASE("an event of a capture belongs to it") {
    Capturing during(cudaStreamCaptureModeRelaxed);
    const Emulation& cuda = during.cuda;
    SUBCASE("two captures do not meet") {
      CHECK(cuda.cudaStreamBeginCapture(during.other, cudaStreamCaptureModeRelaxed) == 0);
      CHECK(cuda.cudaStreamWaitEvent(during.other, during.inside, 0) ==
            cudaErrorStreamCaptureMerge);
      CHECK(during.end() == cudaErrorStreamCaptureInvalidated);
      cudaGraph_t graph = nullptr;
      CHECK(cuda.cudaStreamEndCapture(during.other, &graph) == cudaErrorStreamCaptureInvalidated);
    }
    SUBCASE("after the end nobody waits for it") {
      CHECK(during.end() == cudaSuccess);
      CHECK(cuda.cudaStreamWaitEvent(during.other, during.inside, 0) == cudaErrorCapturedEvent);
      CHECK(cuda.cudaEventSynchronize(during.inside) == cudaErrorCapturedEvent);
      CHECK(cuda.cudaEventRecord(during.inside, during.other) == cudaSuccess);
      CHECK(cuda.cudaEventSynchronize(during.inside) == cudaSuccess);
    }
  }

  TEST_CASE("streams say whether they are captured") {
    Capturing during(cudaStreamCaptureModeGlobal);
    const Emulation& cuda = during.cuda;
    cudaStreamCaptureStatus status{};
    CHECK(cuda.cudaStreamIsCapturing(during.captured, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusActive);
    CHECK(cuda.cudaStreamIsCapturing(during.other, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusNone);
    cuda.cudaStreamWaitEvent(during.other, during.inside, 0);
    CHECK(cuda.cudaStreamIsCapturing(during.other, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusActive);
    CHECK(during.end() == cudaSuccess);
    CHECK(cuda.cudaStreamIsCapturing(during.other, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusNone);
    cudaGraph_t graph = nullptr;
    CHECK(cuda.cudaStreamEndCapture(during.captured, &graph) == cudaErrorIllegalState);
  }
}
