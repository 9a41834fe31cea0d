// The probe of the copies between GPUs: rates, wrong bytes, copies that do not end.
#include "core/device/link_probe.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/graph/error.h"
#include "tests/cuda/recording.h"

using namespace towerflow;
using testing::ScopedLayer;

namespace {

ConfigProto gpus(int count, int share = 1) {
  ConfigProto config;
  config.cuda = {.count = count, .emulated = true, .share = share};
  return config;
}

/// A layer in which copies between cards are wrong, late, or go through the host.
class Links final : public cuda::TableLayer {
 public:
  enum class Kind { lost, never_done, apart };

  explicit Links(Kind kind) : kind_(kind) { enabled = 0; }
  const cuda::Table& on(const cuda::Table& base) override {
    base_ = &base;
    update();
    return table_;
  }
  void update() override {
    table_ = *base_;
    table_.cudaDeviceEnablePeerAccess = &enable;
    if (kind_ == Kind::lost) table_.cudaMemcpyPeerAsync = &lose;
    if (kind_ == Kind::never_done) table_.cudaEventQuery = &wait_for_ever;
    if (kind_ == Kind::apart) table_.cudaDeviceCanAccessPeer = &refuse;
  }

  static inline int enabled = 0;  ///< pairs with peer access

 private:
  /// The last byte is not copied.
  static cudaError_t lose(void* to, int to_device, const void* from, int from_device,
                          std::size_t bytes, cudaStream_t stream) {
    return base_->cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes - 1, stream);
  }
  static cudaError_t wait_for_ever(cudaEvent_t) { return cudaErrorNotReady; }
  static cudaError_t refuse(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
  }
  static cudaError_t enable(int peer, unsigned flags) {
    ++enabled;
    return base_->cudaDeviceEnablePeerAccess(peer, flags);
  }

  static inline const cuda::Table* base_ = nullptr;
  Kind kind_;
  cuda::Table table_;
};

}  // namespace

TEST_SUITE("copies between emulated GPUs") {
  TEST_CASE("each pair is probed, and a card with itself") {
    const auto found = probe_cuda_links(gpus(4, 2), 30);
    std::set<std::pair<std::string, std::string>> pairs;
    for (const LinkProbe& probe : found) {
      CAPTURE(probe.wrong);
      CHECK(probe.wrong.empty());
      CHECK(probe.bytes_per_second > 0);
      pairs.emplace(probe.from, probe.to);
      const bool one_card = (probe.from < "/device:GPU:2") == (probe.to < "/device:GPU:2");
      CHECK(probe.way == (one_card ? "on one card" : "between cards"));
    }
    CHECK(pairs.size() == 12);
  }

  TEST_CASE("a byte that does not arrive is named") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::lost));
    for (const LinkProbe& probe : probe_cuda_links(gpus(2), 30)) {
      CHECK(probe.wrong.starts_with("byte 262143 arrived as 0x00, not 0x"));
      CHECK(probe.bytes_per_second == 0);
    }
    CHECK(Links::enabled == 2);
  }

  TEST_CASE("copies that do not end are given up") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::never_done));
    for (const LinkProbe& probe : probe_cuda_links(gpus(2), 0.5)) {
      CHECK(probe.wrong == "5 copies of 262144 bytes did not end in time");
    }
  }

  TEST_CASE("cards without peer access copy through the host") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::apart));
    for (const LinkProbe& probe : probe_cuda_links(gpus(2), 30)) {
      CHECK(probe.way == "through the host");
      CHECK(probe.wrong.empty());
    }
    CHECK(Links::enabled == 0);
  }

  TEST_CASE("a session without GPUs has no links") {
    CHECK_THROWS_AS(probe_cuda_links({}, 1), ValueError);
  }
}
