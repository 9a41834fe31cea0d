#include "cuda/backend/link_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/backend/check.h"

namespace towerflow::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCopies = 4;  // that are timed, after one that is not

/// Copies between two cards in a stream of the receiver, which copies in a session too.
class LinkTest {
 public:
  LinkTest(const Driver& driver, int from, int to, std::size_t bytes, double seconds)
      : driver_(driver), from_(from), to_(to), bytes_(bytes), seconds_(seconds) {}
  LinkTest(const LinkTest&) = delete;
  LinkTest& operator=(const LinkTest&) = delete;
  ~LinkTest() {
    const Table& table = driver_.table();
    const auto held = driver_.hold_groups();
    if (stream_ != nullptr && table.cudaStreamQuery(stream_) != cudaSuccess) {
      table.cudaGetLastError();
      return;  // a copy that has not ended uses the memory
    }
    for (const cudaEvent_t event : {begin_, copied_}) {
      if (event != nullptr) table.cudaEventDestroy(event);
    }
    if (stream_ != nullptr) table.cudaStreamDestroy(stream_);
    for (void* const memory : {source_, target_}) {
      if (memory != nullptr) table.cudaFree(memory);
    }
    if (host_ != nullptr) table.cudaFreeHost(host_);
  }

  LinkResult run() {
    const Table& table = driver_.table();
    allocate();
    // CUDA may need long for its first calls on a card.
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds_);
    auto* const bytes = static_cast<unsigned char*>(host_);
    for (std::size_t i = 0; i < bytes_; ++i) bytes[i] = pattern(i);
    copy(source_, host_);
    TOWERFLOW_CUDA(table, cudaMemsetAsync(target_, 0, bytes_, stream_));
    copy_to_peer();
    TOWERFLOW_CUDA(table, cudaEventRecord(begin_, stream_));
    for (int i = 0; i < kCopies; ++i) copy_to_peer();
    TOWERFLOW_CUDA(table, cudaEventRecord(copied_, stream_));
    if (!wait()) return not_ended();
    float milliseconds = 0;
    TOWERFLOW_CUDA(table, cudaEventElapsedTime(&milliseconds, begin_, copied_));
    for (std::size_t i = 0; i < bytes_; ++i) bytes[i] = 0;
    copy(host_, target_);
    TOWERFLOW_CUDA(table, cudaEventRecord(copied_, stream_));
    if (!wait()) return not_ended();
    for (std::size_t i = 0; i < bytes_; ++i) {
      if (bytes[i] == pattern(i)) continue;
      return {.wrong =
                  fmt::format("byte {} arrived as {:#04x}, not {:#04x}", i, bytes[i], pattern(i))};
    }
    return {static_cast<double>(bytes_) * kCopies / std::max(1e-9, 1e-3 * milliseconds)};
  }

 private:
  /// No byte is 0, so that one which was not copied is seen.
  static unsigned char pattern(std::size_t i) {
    return static_cast<unsigned char>(1 + (i * 131 + i / 251) % 255);
  }

  void allocate() {
    const Table& table = driver_.table();
    const auto held = driver_.hold_groups();
    driver_.select(from_);
    TOWERFLOW_CUDA(table, cudaHostAlloc(&host_, bytes_, cudaHostAllocPortable));
    TOWERFLOW_CUDA(table, cudaMalloc(&source_, bytes_));
    driver_.select(to_);
    TOWERFLOW_CUDA(table, cudaMalloc(&target_, bytes_));
    for (cudaEvent_t* event : {&begin_, &copied_}) {
      TOWERFLOW_CUDA(table, cudaEventCreateWithFlags(event, cudaEventDefault));
    }
    TOWERFLOW_CUDA(table, cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }

  void copy(void* to, const void* from) {
    TOWERFLOW_CUDA(driver_.table(), cudaMemcpyAsync(to, from, bytes_, cudaMemcpyDefault, stream_));
  }
  void copy_to_peer() {
    TOWERFLOW_CUDA(driver_.table(),
                   cudaMemcpyPeerAsync(target_, to_, source_, from_, bytes_, stream_));
  }

  /// Waits for the event behind the copies; returns whether they ended in time.
  bool wait() const {
    const Table& table = driver_.table();
    for (;;) {
      const cudaError_t status = table.cudaEventQuery(copied_);
      if (status == cudaSuccess) return true;
      if (status != cudaErrorNotReady) {
        raise_failure(describe(table, status, "table.cudaEventQuery(copied)"));
      }
      table.cudaGetLastError();
      if (Clock::now() > end_) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  LinkResult not_ended() const {
    return {.wrong = fmt::format("{} copies of {} bytes did not end in time", kCopies + 1, bytes_),
            .ended = false};
  }

  const Driver& driver_;
  const int from_, to_;
  const std::size_t bytes_;
  const std::chrono::duration<double> seconds_;
  Clock::time_point end_{};
  void *source_ = nullptr, *target_ = nullptr, *host_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, copied_ = nullptr;
};

}  // namespace

LinkResult test_link(const Driver& driver, int from, int to, std::size_t bytes, double seconds) {
  return LinkTest(driver, from, to, bytes, seconds).run();
}

}  // namespace towerflow::cuda
