#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "tests/cuda/emulation.h"

using towerflow::cuda::Emulation;
using towerflow::cuda::Gate;
using towerflow::cuda::host::found_fault;
namespace host = towerflow::cuda::host;

namespace {

/// A program with kernels that change an int in device memory.
struct Program {
  explicit Program(const host::Options& options = {}) : cuda(options) {
    cuda.cudaLibraryLoadData(&library, "// PTX", nullptr, nullptr, 0, nullptr, nullptr, 0);
    cuda.cudaLibraryGetKernel(&add, library, "runtime_test_add");
    cuda.cudaLibraryGetKernel(&times, library, "runtime_test_multiply");
    cuda.cudaMemsetAsync(value, 0, sizeof(int), stream);
    cuda.cudaStreamSynchronize(stream);
  }
  cudaError_t launch(cudaStream_t to, cudaKernel_t kernel, int number, void* at = nullptr) {
    void* pointer = at != nullptr ? at : value;
    void* arguments[] = {&pointer, &number};
    cudaLaunchConfig_t config{};
    config.gridDim = config.blockDim = 1;
    config.stream = to;
    return cuda.cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments);
  }
  template <class Record>
  cudaGraph_t capture(Record record) {
    cudaGraph_t graph = nullptr;
    CHECK(cuda.cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    record();
    CHECK(cuda.cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    return graph;
  }
  cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t executable = nullptr;
    CHECK(cuda.cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    return executable;
  }
  std::vector<cudaGraphNode_t> nodes(cudaGraph_t graph) {
    std::size_t count = 0;
    CHECK(cuda.cudaGraphGetNodes(graph, nullptr, &count) == cudaSuccess);
    std::vector<cudaGraphNode_t> found(count);
    CHECK(cuda.cudaGraphGetNodes(graph, found.data(), &count) == cudaSuccess);
    return found;
  }
  int read() {
    int back = -1;
    cuda.cudaMemcpyAsync(&back, value, sizeof back, cudaMemcpyDeviceToHost, stream);
    return back;
  }
  int replay(cudaGraphExec_t executable) {
    CHECK(cuda.cudaGraphLaunch(executable, stream) == cudaSuccess);
    return read();
  }

  const Emulation cuda;
  cudaStream_t stream = cuda.stream(), other = cuda.stream();
  cudaEvent_t fork = cuda.event(), join = cuda.event();
  void* value = cuda.memory(sizeof(int));
  cudaLibrary_t library = nullptr;
  cudaKernel_t add = nullptr, times = nullptr;
};

}  // namespace

TEST_SUITE("cuda emulation: graphs") {
  TEST_CASE("a capture runs nothing, each replay runs all") {
    Program program;
    const cudaGraph_t graph = program.capture([&] {
      program.launch(program.stream, program.add, 1);
      program.launch(program.stream, program.times, 3);
    });
    CHECK(program.read() == 0);
    const cudaGraphExec_t executable = program.instantiate(graph);
    CHECK(program.cuda.cudaGraphUpload(executable, program.stream) == cudaSuccess);
    CHECK(program.read() == 0);
    CHECK(program.replay(executable) == 3);
    CHECK(program.replay(executable) == 12);
  }

  TEST_CASE("a graph has its nodes in order, with their types") {
    Program program;
    std::byte* pinned = program.cuda.pinned(64);
    const cudaGraph_t graph = program.capture([&] {
      program.launch(program.stream, program.add, 1);
      program.cuda.cudaMemsetAsync(program.value, 0, 4, program.stream);
      program.cuda.cudaMemcpyAsync(pinned, program.value, 4, cudaMemcpyDeviceToHost,
                                   program.stream);
      program.cuda.cudaLaunchHostFunc(
          program.stream, [](void*) {}, nullptr);
      program.cuda.run(program.stream, nullptr);
    });
    const cudaGraphNodeType expected[] = {cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemset,
                                          cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost,
                                          cudaGraphNodeTypeKernel};
    const std::vector<cudaGraphNode_t> nodes = program.nodes(graph);
    REQUIRE(nodes.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
      cudaGraphNodeType type{};
      CHECK(program.cuda.cudaGraphNodeGetType(nodes[i], &type) == cudaSuccess);
      CHECK(type == expected[i]);
    }
  }

  TEST_CASE("waiting for an event of the capture draws a stream in, and joins order branches") {
    for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5}) {
      CAPTURE(seed);
      Program program({.seed = seed, .max_delay = 300});
      const Emulation& cuda = program.cuda;
      void* second = cuda.memory(sizeof(int));
      const cudaGraph_t graph = program.capture([&] {
        cuda.cudaMemsetAsync(second, 0, sizeof(int), program.stream);
        cuda.cudaEventRecord(program.fork, program.stream);
        cuda.cudaStreamWaitEvent(program.other, program.fork, 0);
        program.launch(program.other, program.add, 5, second);
        program.launch(program.stream, program.add, 1);
        cuda.cudaEventRecord(program.join, program.other);
        cuda.cudaStreamWaitEvent(program.stream, program.join, 0);
        cuda.cudaMemcpyAsync(program.value, second, sizeof(int), cudaMemcpyDeviceToDevice,
                             program.stream);
      });
      const cudaGraphExec_t executable = program.instantiate(graph);
      for (int i = 0; i < 3; ++i) CHECK(program.replay(executable) == 5);
      CHECK_FALSE(found_fault());
    }
  }

  TEST_CASE("branches of a graph that nothing orders are found") {
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      CAPTURE(seed);
      Program program({.seed = seed, .max_delay = 300});
      const Emulation& cuda = program.cuda;
      const cudaGraph_t graph = program.capture([&] {
        cuda.cudaEventRecord(program.fork, program.stream);
        cuda.cudaStreamWaitEvent(program.other, program.fork, 0);
        cuda.write(program.other, program.value, 4, "scale");
        cuda.write(program.stream, program.value, 4, "add");
        cuda.cudaEventRecord(program.join, program.other);
        cuda.cudaStreamWaitEvent(program.stream, program.join, 0);
      });
      const cudaGraphExec_t executable = program.instantiate(graph);
      CHECK(cuda.cudaGraphLaunch(executable, program.stream) == cudaSuccess);
      CHECK(cuda.cudaStreamSynchronize(program.stream) == cudaErrorUnknown);
      REQUIRE(found_fault());
      REQUIRE(found_fault()->order);
      CHECK(found_fault()->text.find("branch 1 of graph 1") != std::string::npos);
    }
  }

  TEST_CASE("a graph is ordered as a whole with the streams around it") {
    Program program;
    const Emulation& cuda = program.cuda;
    const std::byte* second = cuda.memory(4);
    const cudaGraph_t graph = program.capture([&] {
      cuda.cudaEventRecord(program.fork, program.stream);
      cuda.cudaStreamWaitEvent(program.other, program.fork, 0);
      cuda.write(program.other, program.value, 4);
      cuda.write(program.stream, second, 4);
      cuda.cudaEventRecord(program.join, program.other);
      cuda.cudaStreamWaitEvent(program.stream, program.join, 0);
    });
    const cudaGraphExec_t executable = program.instantiate(graph);
    cuda.write(program.stream, program.value, 4);
    cuda.cudaGraphLaunch(executable, program.stream);
    // Launches of a graph come one after the other, also in two streams.
    cuda.cudaGraphLaunch(executable, program.other);
    cuda.write(program.other, program.value, 4);
    CHECK(cuda.cudaDeviceSynchronize() == cudaSuccess);
    cuda.cudaGraphLaunch(executable, program.other);
    cuda.write(program.stream, program.value, 4);
    CHECK(cuda.cudaDeviceSynchronize() == cudaErrorUnknown);
  }

  TEST_CASE("arguments are copied at the capture, host memory is read at the replay") {
    Program program;
    const Emulation& cuda = program.cuda;
    std::vector<int> pageable = {1};
    const cudaGraph_t graph = program.capture([&] {
      cuda.cudaMemcpyAsync(program.value, pageable.data(), sizeof(int), cudaMemcpyHostToDevice,
                           program.stream);
    });
    const cudaGraphExec_t executable = program.instantiate(graph);
    pageable[0] = 2;
    CHECK(program.replay(executable) == 2);
    pageable[0] = 3;
    CHECK(program.replay(executable) == 3);
  }

  TEST_CASE("a graph outlives what it was made of") {
    Program program;
    const Emulation& cuda = program.cuda;
    const cudaGraph_t graph =
        program.capture([&] { program.launch(program.stream, program.add, 1); });
    const cudaGraphExec_t executable = program.instantiate(graph);
    const std::vector<cudaGraphNode_t> nodes = program.nodes(graph);
    CHECK(cuda.cudaGraphDestroy(graph) == cudaSuccess);
    CHECK(cuda.cudaGraphDestroy(graph) == cudaErrorInvalidResourceHandle);
    CHECK(program.replay(executable) == 1);
    cudaGraphNodeType type{};
    CHECK(cuda.cudaGraphNodeGetType(nodes[0], &type) == cudaErrorInvalidResourceHandle);
  }

  TEST_CASE("an executable that was destroyed gives 1") {
    Program program;
    const cudaGraph_t graph =
        program.capture([&] { program.launch(program.stream, program.add, 1); });
    const cudaGraphExec_t executable = program.instantiate(graph);
    CHECK(program.cuda.cudaGraphLaunch(executable, program.stream) == cudaSuccess);
    CHECK(program.cuda.cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(program.cuda.cudaGraphLaunch(executable, program.stream) == cudaErrorInvalidValue);
    CHECK(program.read() == 1);
  }

  TEST_CASE("memory of a graph that was freed is a fault of its replay") {
    Program program;
    const Emulation& cuda = program.cuda;
    std::byte* pinned = cuda.pinned(64);
    const cudaGraph_t graph = program.capture([&] {
      cuda.cudaMemcpyAsync(program.value, pinned, 4, cudaMemcpyHostToDevice, program.stream);
    });
    const cudaGraphExec_t executable = program.instantiate(graph);
    SUBCASE("of the device") { CHECK(cuda.cudaFree(program.value) == cudaSuccess); }
    SUBCASE("of the host") { CHECK(cuda.cudaFreeHost(pinned) == cudaSuccess); }
    CHECK(cuda.cudaGraphLaunch(executable, program.stream) == cudaSuccess);
    CHECK(cuda.cudaStreamSynchronize(program.stream) == cudaErrorIllegalAddress);
  }

  TEST_CASE("parameters of nodes") {
    Program program;
    const Emulation& cuda = program.cuda;
    std::byte* pinned = cuda.pinned(64);
    std::memset(pinned, 0, 64);
    int calls = 0, other_calls = 0;
    const auto count = [](void* number) { ++*static_cast<int*>(number); };
    const cudaGraph_t graph = program.capture([&] {
      cuda.cudaMemsetAsync(program.value, 0, 4, program.stream);
      program.launch(program.stream, program.add, 1);
      cuda.cudaMemcpyAsync(pinned, program.value, 4, cudaMemcpyDeviceToHost, program.stream);
      cuda.cudaLaunchHostFunc(program.stream, count, &calls);
      cuda.run(program.stream, nullptr);
    });
    const cudaGraphExec_t executable = program.instantiate(graph);
    const std::vector<cudaGraphNode_t> nodes = program.nodes(graph);
    CHECK(program.replay(executable) == 1);

    int number = 2;
    void* arguments[] = {&program.value, &number};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(program.times);
    kernel.gridDim = kernel.blockDim = 1;
    kernel.kernelParams = arguments;
    CHECK(cuda.cudaGraphExecKernelNodeSetParams(executable, nodes[1], &kernel) == cudaSuccess);
    number = 1000;
    cudaMemsetParams set{};
    set.dst = program.value;
    set.value = 21;
    set.elementSize = 4;
    set.width = set.height = 1;
    CHECK(cuda.cudaGraphExecMemsetNodeSetParams(executable, nodes[0], &set) == cudaSuccess);
    CHECK(cuda.cudaGraphExecMemcpyNodeSetParams1D(executable, nodes[2], pinned + 8, program.value,
                                                  4, cudaMemcpyDeviceToHost) == cudaSuccess);
    const cudaHostNodeParams host_function{.fn = count, .userData = &other_calls};
    CHECK(cuda.cudaGraphExecHostNodeSetParams(executable, nodes[3], &host_function) == cudaSuccess);
    CHECK(program.replay(executable) == 42);
    int copied = 0;
    std::memcpy(&copied, pinned + 8, 4);
    CHECK(copied == 42);
    CHECK(calls == 1);
    CHECK(other_calls == 1);

    kernel.blockDim = 2048;
    CHECK(cuda.cudaGraphExecKernelNodeSetParams(executable, nodes[1], &kernel) == 1);
    kernel.blockDim = 1;
    CHECK(cuda.cudaGraphExecKernelNodeSetParams(executable, nodes[0], &kernel) == 1);
    CHECK(cuda.cudaGraphExecKernelNodeSetParams(executable, nodes[4], &kernel) == 1);
    CHECK(cuda.cudaGraphExecMemcpyNodeSetParams1D(executable, nodes[2], pinned, program.value, 5,
                                                  cudaMemcpyDeviceToHost) == 1);
    CHECK(cuda.cudaGraphExecKernelNodeSetParams(executable, nullptr, &kernel) == 400);
    CHECK(program.replay(executable) == 42);
  }

  TEST_CASE("updates of executables, and other topologies, which are refused with 910") {
    Program program;
    const Emulation& cuda = program.cuda;
    const cudaGraph_t graph =
        program.capture([&] { program.launch(program.stream, program.add, 1); });
    const cudaGraphExec_t executable = program.instantiate(graph);
    cudaGraphExecUpdateResultInfo result{};
    const cudaGraph_t more =
        program.capture([&] { program.launch(program.stream, program.add, 10); });
    CHECK(cuda.cudaGraphExecUpdate(executable, more, &result) == cudaSuccess);
    CHECK(result.result == cudaGraphExecUpdateSuccess);
    CHECK(program.replay(executable) == 10);

    const cudaGraph_t longer = program.capture([&] {
      program.launch(program.stream, program.add, 100);
      program.launch(program.stream, program.add, 100);
    });
    CHECK(cuda.cudaGraphExecUpdate(executable, longer, &result) == cudaErrorGraphExecUpdateFailure);
    CHECK(result.result == cudaGraphExecUpdateErrorTopologyChanged);
    const cudaGraph_t other =
        program.capture([&] { cuda.cudaMemsetAsync(program.value, 0, 4, program.stream); });
    CHECK(cuda.cudaGraphExecUpdate(executable, other, &result) == cudaErrorGraphExecUpdateFailure);
    CHECK(result.result == cudaGraphExecUpdateErrorNodeTypeChanged);
    CHECK(result.errorNode == program.nodes(other)[0]);
    CHECK(program.replay(executable) == 20);
  }

  TEST_CASE("a graph waits for events of the outside and records them") {
    Program program;
    const Emulation& cuda = program.cuda;
    const cudaStream_t third = cuda.stream();
    const cudaGraph_t graph = program.capture([&] {
      cuda.cudaStreamWaitEvent(program.stream, program.fork, cudaEventWaitExternal);
      program.launch(program.stream, program.add, 1);
      cuda.cudaEventRecordWithFlags(program.join, program.stream, cudaEventRecordExternal);
    });
    const cudaGraphExec_t executable = program.instantiate(graph);
    Gate gate;
    cuda.run(third, gate.wait());
    program.launch(third, program.add, 5);
    CHECK(cuda.cudaEventRecord(program.fork, third) == cudaSuccess);
    CHECK(cuda.cudaGraphLaunch(executable, program.stream) == cudaSuccess);
    CHECK(cuda.cudaEventQuery(program.join) == cudaErrorNotReady);
    gate.open();
    CHECK(cuda.cudaEventSynchronize(program.join) == cudaSuccess);
    CHECK(program.read() == 6);
    CHECK_FALSE(found_fault());
    CHECK(cuda.cudaEventRecordWithFlags(program.join, program.stream, cudaEventRecordExternal) ==
          cudaErrorInvalidValue);
  }
}
