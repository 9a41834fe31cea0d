// The emulation of kernels on the host: what is found, counted and refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using testing::DeviceMemory;
using testing::fault_of;
using testing::launch_for;

namespace {

std::vector<float> ramp(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}
bool says(const host::KernelFault& fault, const std::string& text) {
  INFO(std::string(fault.what()));
  const bool found = std::string(fault.what()).find(text) != std::string::npos;
  CHECK(found);
  return found;
}
/// The fields of the kernel's own struct.
struct Pair {
  const float* from[2];
  float factor;
  float* to;
};

}  // namespace

TEST_SUITE("cuda kernels") {
  TEST_CASE("a kernel reads and writes its buffers, and the bytes are counted") {
    DeviceMemory memory;
    const long n = 1000;
    const float* x = memory.upload(ramp(n));
    float* y = memory.allocate<float>(n);
    const auto trace = memory.run("test_scale", launch_for(n), x, y, 2.0F, n);
    const auto values = memory.download(y, n);
    for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == 2 * (i + 1.0F));
    CHECK(trace.bytes_read == 4000);
    CHECK(trace.bytes_written == 4000);
    REQUIRE(trace.accessed.size() == 2);
    CHECK(trace.accessed[0].at == x);
    CHECK(trace.accessed[0].bytes == 4000);
    CHECK_FALSE(trace.accessed[0].written);
    CHECK(trace.accessed[1].at == y);
    CHECK(trace.accessed[1].bytes == 4000);
    CHECK(trace.accessed[1].written);
  }

  TEST_CASE("pointers are translated that point into a buffer, or lie in a struct") {
    DeviceMemory memory;
    const float* x = memory.upload(ramp(8));
    float* y = memory.allocate<float>(8);
    const auto trace = memory.run("test_pair", launch_for(4), Pair{{x, x + 4}, 0.5F, y + 2}, 4L);
    CHECK(memory.download(y + 2, 4) == std::vector<float>{3, 4, 5, 6});
    REQUIRE(trace.accessed.size() == 2);
    CHECK(trace.accessed[0].bytes == 32);
    CHECK(trace.accessed[1].at == y + 2);
    CHECK(trace.accessed[1].bytes == 16);
    const host::HostKernel* kernel = host::find_kernel("test_pair");
    REQUIRE(kernel != nullptr);
    CHECK(kernel->parameters[0].pointers == std::vector<std::size_t>{0, 8, 24});
    CHECK(kernel->parameters[0].bytes == sizeof(Pair));
    CHECK(kernel->parameters[1].pointers.empty());
  }

  TEST_CASE("an index that is off by one is found, even if it changes no value") {
    DeviceMemory memory;
    const float* x = memory.upload(ramp(256));
    float* y = memory.allocate<float>(256);
    auto fault =
        fault_of([&] { memory.run("test_scale_one_more", launch_for(257), x, y, 1.0F, 256L); });
    CHECK(fault.status() == cudaErrorIllegalAddress);
    says(fault, "a read of 4 bytes outside of every buffer");
    says(fault, "at byte 1024 of a buffer of 1024 bytes, thread (0, 0, 0) of block (1, 0, 0)");
    fault = fault_of([&] { memory.run("test_read_one_more", launch_for(256), x, y, 256L); });
    CHECK(fault.status() == cudaErrorIllegalAddress);
    memory.run("test_scale", launch_for(256), x, y, 1.0F, 256L);  // the next launch works
    CHECK(memory.download(y, 256) == ramp(256));
  }

  TEST_CASE("null and unknown pointers may be passed, but not accessed") {
    DeviceMemory memory;
    float* y = memory.allocate<float>(4);
    memory.run("test_scale", launch_for(4), static_cast<const float*>(nullptr), y, 1.0F, 0L);
    auto fault = fault_of([&] {
      memory.run("test_scale", launch_for(4), static_cast<const float*>(nullptr), y, 1.0F, 4L);
    });
    CHECK(fault.status() == cudaErrorIllegalAddress);
    says(fault, "near address 0");
    const float pageable[4] = {};
    fault = fault_of([&] { memory.run("test_scale", launch_for(4), +pageable, y, 1.0F, 4L); });
    CHECK(fault.status() == cudaErrorIllegalAddress);
    says(fault, "far from every buffer");
  }

  TEST_CASE("a misaligned access is an error") {
    DeviceMemory memory;
    const unsigned char* x = memory.upload(std::vector<unsigned char>(16));
    float* y = memory.allocate<float>(1);
    memory.run("test_copy_at", launch_for(1), x, y, 4);
    CHECK(memory.download(y, 1)[0] == 0);
    const auto fault = fault_of([&] { memory.run("test_copy_at", launch_for(1), x, y, 2); });
    CHECK(fault.status() == cudaErrorMisalignedAddress);
  }

  TEST_CASE("all indices of a grid occur once, in the numbered order and in others") {
    DeviceMemory memory;
    for (const std::uint64_t seed : {0, 1, 2}) {
      host::set_order(seed);
      int* out = memory.allocate<int>(2 * 3 * 4 * 5 * 6 * 7);
      memory.run("test_index", {dim3(2, 3, 4), dim3(5, 6, 7), 0}, out);
      const auto values = memory.download(out, 5040);
      for (int i = 0; i < 5040; ++i) REQUIRE(values[static_cast<std::size_t>(i)] == i);
    }
    host::set_order(0);
  }

  TEST_CASE("a seed shuffles the blocks, each is run once") {
    DeviceMemory memory;
    std::set<std::vector<int>> orders;
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      host::set_order(seed);
      int* list = memory.upload(std::vector<int>(102));
      memory.run("test_order", {dim3(101), dim3(1), 0}, list);
      auto order = memory.download(list + 1, 101);
      orders.insert(order);
      std::vector<int> numbered(101);
      std::iota(numbered.begin(), numbered.end(), 0);
      if (seed == 0) CHECK(order == numbered);
      std::sort(order.begin(), order.end());
      CHECK(order == numbered);
    }
    host::set_order(0);
    CHECK(orders.size() == 4);
  }

  TEST_CASE("threads meet at barriers") {
    DeviceMemory memory;
    const long n = 700;
    const float* x = memory.upload(ramp(n));
    for (const std::uint64_t seed : {0, 5, 77}) {
      host::set_order(seed);
      float* sums = memory.allocate<float>(3);
      const auto trace = memory.run("test_block_sum", launch_for(n), x, sums, n);
      const auto values = memory.download(sums, 3);
      CHECK(values[0] == 256 * 257 / 2);
      CHECK(values[0] + values[1] + values[2] == 700 * 701 / 2);
      CHECK(trace.bytes_read == 2800);
      CHECK(trace.bytes_written == 12);
    }
    host::set_order(0);
  }

  TEST_CASE("races in shared memory are found") {
    DeviceMemory memory;
    const float* x = memory.upload(ramp(256));
    float* y = memory.allocate<float>(256);
    auto fault = fault_of([&] { memory.run("test_block_sum_race", launch_for(256), x, y, 256L); });
    CHECK(fault.status() == cudaErrorLaunchFailure);
    says(fault, "a race of two threads in shared memory");
    fault = fault_of([&] { memory.run("test_warp_memory", launch_for(64, 64), y, 0); });
    says(fault, "a race");
    memory.run("test_warp_memory", launch_for(64, 64), y, 1);
    CHECK(memory.download(y, 3) == std::vector<float>{1, 0, 3});
    unsigned char* bytes = memory.allocate<unsigned char>(256);
    memory.run("test_bytes", launch_for(256), bytes);
    CHECK(memory.download(bytes, 2) == std::vector<unsigned char>{255, 254});
  }

  TEST_CASE("races in device memory are found") {
    DeviceMemory memory;
    int* y = memory.allocate<int>(257);
    auto fault = fault_of([&] { memory.run("test_race", launch_for(256), y, 0); });
    CHECK(fault.status() == cudaErrorLaunchFailure);
    says(fault,
         "a race: a write of 4 bytes that another thread has written, at byte 0 of a buffer");
    fault = fault_of([&] { memory.run("test_race", launch_for(256), y, 1); });
    says(fault, "a race: a read of 4 bytes that another thread has written, at byte 4 of a buffer");
    fault = fault_of([&] { memory.run("test_race_of_bytes", launch_for(256), y, 0); });
    says(fault,
         "a race: a write of 4 bytes that another thread has written, at byte 4 of a buffer");
    fault = fault_of([&] { memory.run("test_race_of_bytes", launch_for(256), y, 1); });
    says(fault,
         "a race: a write of 1 bytes that another thread has written, at byte 4 of a buffer");
    memory.run("test_race_of_blocks", launch_for(64, 64), y);
    says(fault_of([&] { memory.run("test_race_of_blocks", launch_for(128, 64), y); }),
         "a race: a write of 4 bytes that another block has written, at byte 0 of a buffer");
  }

  TEST_CASE("shared memory holds nothing at first, and only what was declared") {
    DeviceMemory memory;
    float* y = memory.allocate<float>(32);
    says(fault_of([&] { memory.run("test_unwritten", launch_for(32, 32), y); }), "not written");
    says(fault_of([&] { memory.run("test_undeclared", launch_for(32, 32), y); }),
         "more static shared memory than was declared");
    const float* x = memory.upload(ramp(32));
    memory.run("test_dynamic", {dim3(1), dim3(32), 128}, x, y, 0);
    CHECK(memory.download(y, 2) == std::vector<float>{2, 3});
    CHECK(memory.download(y, 32)[31] == 1);
    says(fault_of([&] {
           memory.run("test_dynamic", {dim3(1), dim3(32), 128}, x, y, 1);
         }),
         "outside of the block's shared memory");
  }

  TEST_CASE("warps exchange values as CUDA defines it") {
    DeviceMemory memory;
    const float* x = memory.upload(ramp(64));
    float* sums = memory.allocate<float>(2);
    memory.run("test_warp_sum", launch_for(64, 64), x, sums);
    CHECK(memory.download(sums, 2) == std::vector<float>{528, 1552});
    int* out = memory.allocate<int>(192);
    memory.run("test_exchanges", launch_for(32, 32), out);
    const auto got = memory.download(out, 192);
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = [&](int kind) { return got[static_cast<std::size_t>(32 * kind + lane)]; };
      CHECK(at(0) == lane / 8 * 8 + 3);
      CHECK(at(1) == (lane < 2 ? lane : lane - 2));
      CHECK(at(2) == (lane % 16 < 14 ? lane + 2 : lane));
      CHECK(at(3) == (lane ^ 5));
      CHECK(at(4) == (lane ^ 1) * 4 + 1);
      CHECK(at(5) == 0x49249249);
    }
  }

  TEST_CASE("threads that do not meet are an error") {
    DeviceMemory memory;
    float* y = memory.allocate<float>(64);
    auto fault = fault_of([&] { memory.run("test_half_a_barrier", launch_for(64, 64), y); });
    CHECK(fault.status() == cudaErrorLaunchFailure);
    says(fault, "32 of 64 threads of block (0, 0, 0) reach a barrier");
    int* out = memory.allocate<int>(32);
    says(fault_of([&] { memory.run("test_half_a_warp", launch_for(32, 32), out); }),
         "wait for others that do not come");
    says(fault_of([&] { memory.run("test_barrier_unannounced", launch_for(32, 32), y); }),
         "not a meeting kernel");
  }

  TEST_CASE("launches over the limits are refused") {
    DeviceMemory memory;
    float* y = memory.allocate<float>(64);
    const auto refused = [&](dim3 blocks, dim3 threads, std::size_t shared) {
      const auto fault = fault_of([&] {
        memory.run("test_barrier_unannounced", {blocks, threads, shared}, y);
      });
      return fault.status() == cudaErrorInvalidValue;
    };
    CHECK(refused(dim3(0), dim3(32), 0));
    CHECK(refused(dim3(1), dim3(33), 0));
    CHECK(refused(dim3(1), dim3(1, 1, 65), 0));
    CHECK(refused(dim3(1, 65536), dim3(32), 0));
    CHECK(refused(dim3(1), dim3(32), 227 * 1024 + 1));
  }
}
