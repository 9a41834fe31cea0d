// How fast copies between GPUs are, and whether they are right.
#include "core/device/link_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "core/device/backend_registry.h"
#include "core/graph/error.h"
#include "cuda/backend/check.h"
#include "cuda/backend/cuda_backend.h"

namespace towerflow::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCopies = 4;  // that are timed, after one that is not

/// Copies between two devices in a stream of the receiver, which copies in a session too.
class LinkTest {
 public:
  LinkTest(CudaBackend& backend, int from, int to, std::size_t bytes, double seconds)
      : from_(*backend.device(from)),
        to_(*backend.device(to)),
        bytes_(bytes),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        source_(backend.allocate(from, bytes)),
        target_(backend.allocate(to, bytes)),
        host_(backend.allocate_staging(bytes)),
        stream_(to_.take_stream()) {
    to_.select();
    for (cudaEvent_t* event : {&begin_, &copied_}) {
      TOWERFLOW_CUDA(to_.table(), cudaEventCreateWithFlags(event, cudaEventDefault));
    }
  }
  /// Keeps what a copy that has not ended still uses.
  ~LinkTest() {
    if (!ended_ && to_.table().cudaStreamQuery(stream_.stream) != cudaSuccess) {
      static auto* const kept = new std::vector<std::shared_ptr<void>>;
      kept->insert(kept->end(), {source_, target_, host_});
      return;
    }
    to_.give_back(stream_);
    for (const cudaEvent_t event : {begin_, copied_}) to_.table().cudaEventDestroy(event);
  }
  LinkTest(const LinkTest&) = delete;
  LinkTest& operator=(const LinkTest&) = delete;

  LinkProbe run() {
    LinkProbe probe{from_.name(), to_.name(), way(), 0, {}};
    const Table& table = to_.table();
    auto* const bytes = static_cast<unsigned char*>(host_.get());
    for (std::size_t i = 0; i < bytes_; ++i) bytes[i] = pattern(i);
    ended_ = false;
    copy(source_.get(), host_.get());
    TOWERFLOW_CUDA(table, cudaMemsetAsync(target_.get(), 0, bytes_, stream_.stream));
    copy_to_peer();
    TOWERFLOW_CUDA(table, cudaEventRecord(begin_, stream_.stream));
    for (int i = 0; i < kCopies; ++i) copy_to_peer();
    TOWERFLOW_CUDA(table, cudaEventRecord(copied_, stream_.stream));
    if (!wait()) return gave_up(std::move(probe));
    float milliseconds = 0;
    TOWERFLOW_CUDA(table, cudaEventElapsedTime(&milliseconds, begin_, copied_));
    for (std::size_t i = 0; i < bytes_; ++i) bytes[i] = 0;
    copy(host_.get(), target_.get());
    TOWERFLOW_CUDA(table, cudaEventRecord(copied_, stream_.stream));
    if (!wait()) return gave_up(std::move(probe));
    ended_ = true;
    for (std::size_t i = 0; i < bytes_; ++i) {
      if (bytes[i] == pattern(i)) continue;
      probe.wrong = fmt::format("byte {} arrived as {:#04x}, not {:#04x}", i, bytes[i], pattern(i));
      return probe;
    }
    probe.bytes_per_second =
        static_cast<double>(bytes_) * kCopies / std::max(1e-9, 1e-3 * milliseconds);
    return probe;
  }

 private:
  /// No byte is 0, so that one which was not copied is seen.
  static unsigned char pattern(std::size_t i) {
    return static_cast<unsigned char>(1 + (i * 131 + i / 251) % 255);
  }

  const char* way() const {
    if (from_.number() == to_.number()) return "on one card";
    int can = 0;
    TOWERFLOW_CUDA(to_.table(), cudaDeviceCanAccessPeer(&can, to_.number(), from_.number()));
    return can != 0 ? "between cards" : "through the host";
  }

  void copy(void* to, const void* from) {
    TOWERFLOW_CUDA(to_.table(),
                   cudaMemcpyAsync(to, from, bytes_, cudaMemcpyDefault, stream_.stream));
  }
  void copy_to_peer() {
    TOWERFLOW_CUDA(to_.table(), cudaMemcpyPeerAsync(target_.get(), to_.number(), source_.get(),
                                                    from_.number(), bytes_, stream_.stream));
  }

  /// Waits for the event behind the copies; returns whether they ended in time.
  bool wait() const {
    for (;;) {
      const cudaError_t status = to_.table().cudaEventQuery(copied_);
      if (status == cudaSuccess) return true;
      if (status != cudaErrorNotReady) {
        raise_failure(describe(to_.table(), status, "table.cudaEventQuery(copied)"));
      }
      to_.table().cudaGetLastError();
      if (Clock::now() > end_) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  LinkProbe gave_up(LinkProbe probe) const {
    probe.wrong = fmt::format("{} copies of {} bytes did not end in time", kCopies + 1, bytes_);
    return probe;
  }

  Device &from_, &to_;
  const std::size_t bytes_;
  const Clock::time_point end_;
  std::shared_ptr<void> source_, target_, host_;
  Stream stream_;
  cudaEvent_t begin_ = nullptr, copied_ = nullptr;
  bool ended_ = true;
};

}  // namespace
}  // namespace towerflow::cuda

std::vector<towerflow::LinkProbe> towerflow::probe_cuda_links(const ConfigProto& config,
                                                              double seconds) {
  const auto backend = std::dynamic_pointer_cast<cuda::CudaBackend>(make_cuda_backend(config));
  if (backend == nullptr) throw ValueError("there are no GPUs to probe");
  const std::size_t bytes = std::size_t{1} << (backend->emulated() ? 18 : 26);
  std::vector<LinkProbe> probes;
  for (int from = 0; from < backend->device_count(); ++from) {
    for (int to = 0; to < backend->device_count(); ++to) {
      if (from == to) continue;
      probes.push_back(cuda::LinkTest(*backend, from, to, bytes, seconds).run());
    }
  }
  return probes;
}
