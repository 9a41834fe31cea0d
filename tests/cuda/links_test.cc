// Copies between GPUs: what a session makes of wrong bytes and of copies that do not end, and what
// the probe shows.
#include "core/device/link_probe.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/device/backend_registry.h"
#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/runtime/session.h"
#include "cuda/backend/driver.h"
#include "tests/cuda/changed_calls.h"
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
class Links final : public testing::ChangedCalls {
 public:
  enum class Kind { lost, lost_back, lost_directly, lost_if_large, never_done, apart, too_many };

  explicit Links(Kind kind) : kind_(kind) { enabled = freed = lost_from = 0; }
  void change(cuda::Table& table) override {
    table.cudaDeviceEnablePeerAccess = &enable;
    table.cudaDeviceDisablePeerAccess = &disable;
    if (kind_ == Kind::lost || kind_ == Kind::lost_if_large) {
      table.cudaMemcpyPeerAsync = &lose;
      lost_from = kind_ == Kind::lost ? 0 : 1 << 17;
    }
    if (kind_ == Kind::lost_back) table.cudaMemcpyPeerAsync = &lose_back;
    if (kind_ == Kind::lost_directly) table.cudaMemcpyPeerAsync = &lose_directly;
    if (kind_ == Kind::never_done) {
      table.cudaEventQuery = &event_not_ready;
      table.cudaStreamQuery = &stream_not_ready;
      table.cudaFree = &free_memory;
    }
    if (kind_ == Kind::apart) table.cudaDeviceCanAccessPeer = &refuse;
    if (kind_ == Kind::too_many) table.cudaDeviceEnablePeerAccess = &refuse_more;
  }

  static inline int enabled = 0;            ///< ordered pairs of cards with access
  static inline int freed = 0;              ///< blocks of memory, where copies do not end
  static inline std::size_t lost_from = 0;  ///< the smallest copies that lose a byte

 private:
  /// The last byte is not copied.
  static cudaError_t lose(void* to, int to_device, const void* from, int from_device,
                          std::size_t bytes, cudaStream_t stream) {
    bytes -= bytes >= lost_from ? 1 : 0;
    return base_->cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream);
  }
  static cudaError_t lose_directly(void* to, int to_device, const void* from, int from_device,
                                   std::size_t bytes, cudaStream_t stream) {
    return (enabled > 0 ? lose : base_->cudaMemcpyPeerAsync)(to, to_device, from, from_device,
                                                             bytes, stream);
  }
  /// Copies from card 1 lose a byte.
  static cudaError_t lose_back(void* to, int to_device, const void* from, int from_device,
                               std::size_t bytes, cudaStream_t stream) {
    return (from_device == 1 ? lose : base_->cudaMemcpyPeerAsync)(to, to_device, from, from_device,
                                                                  bytes, stream);
  }
  static cudaError_t event_not_ready(cudaEvent_t) { return cudaErrorNotReady; }
  static cudaError_t stream_not_ready(cudaStream_t) { return cudaErrorNotReady; }
  static cudaError_t free_memory(void* memory) {
    ++freed;
    return base_->cudaFree(memory);
  }
  static cudaError_t refuse(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
  }
  static cudaError_t enable(int peer, unsigned flags) {
    ++enabled;
    return base_->cudaDeviceEnablePeerAccess(peer, flags);
  }
  static cudaError_t refuse_more(int, unsigned) { return cudaErrorTooManyPeers; }
  static cudaError_t disable(int peer) {
    --enabled;
    return base_->cudaDeviceDisablePeerAccess(peer);
  }

  Kind kind_;
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

  TEST_CASE("a session uses the host where direct copies are wrong") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::lost_directly));
    const std::string wrong = "from card 0 to card 1, byte 65535 arrived as 0x00, not 0x";
    for (int round = 0; round < 2; ++round) {  // the second session knows it from the first
      Graph graph;
      const auto guard = graph.as_default();
      Session session(graph, gpus(2));
      CHECK(Links::enabled == 0);
      const auto devices = session.device_holdings(std::vector<Fetch>{});
      for (const DeviceHolding& device : devices) {
        if (device.name.find("GPU") == std::string::npos) continue;
        CHECK(device.description.find("; copies go through the host: " + wrong) !=
              std::string::npos);
      }
      const auto backend = make_cuda_backend(gpus(2));
      const std::string refusal = backend->collective({0, 1}).refusal;
      CHECK(refusal.starts_with("direct copies between cards 0 and 1 are wrong (" + wrong));
    }
    for (const LinkProbe& probe : probe_cuda_links(gpus(2), 30)) {
      CHECK(probe.way == "through the host");
      CHECK(probe.wrong.empty());
    }
  }

  TEST_CASE("a session refuses cards whose copies are wrong through the host too") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::lost));
    for (int round = 0; round < 2; ++round) {
      try {
        make_cuda_backend(gpus(2));
        FAIL("no error");
      } catch (const errors::UnavailableError& error) {
        const std::string text = error.what();
        CAPTURE(text);
        CHECK(text.find("copies between GPUs fail: from card 0 to card 1, byte 65535 arrived as "
                        "0x00, not 0x") != std::string::npos);
      }
    }
    CHECK(Links::enabled == 0);
    CHECK(make_cuda_backend(gpus(2, 2)) != nullptr);  // one card
  }

  TEST_CASE("copies are tested both ways") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::lost_back));
    CHECK_THROWS_WITH_AS(make_cuda_backend(gpus(2)),
                         doctest::Contains("from card 1 to card 0, byte 65535 arrived as 0x00"),
                         errors::UnavailableError);
  }

  TEST_CASE("a session refuses cards whose copies do not end") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::never_done));
    cuda::PeerLinks links;
    const auto driver = cuda::Driver::open(gpus(1).cuda);
    for (int round = 0; round < 2; ++round) {
      CHECK_THROWS_WITH_AS(links.open(*driver, {0, 1}, 0.2),
                           doctest::Contains("5 copies of 65536 bytes did not end in time"),
                           errors::UnavailableError);
    }
    links.open(*driver, {0});
    CHECK(Links::freed == 0);  // the copies use the memory, and cudaFree would wait for them
  }

  TEST_CASE("the probe names a byte that does not arrive") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::lost_if_large));
    for (const LinkProbe& probe : probe_cuda_links(gpus(2), 30)) {
      CHECK(probe.wrong.starts_with("byte 262143 arrived as 0x00, not 0x"));
      CHECK(probe.bytes_per_second == 0);
      CHECK(probe.way == "between cards");
    }
    CHECK(Links::enabled == 2);
  }

  TEST_CASE("the probe gives up copies that do not end") {
    const ScopedLayer scope(std::make_shared<Links>(Links::Kind::never_done));
    for (const LinkProbe& probe : probe_cuda_links(gpus(2, 2), 0.2)) {
      CHECK(probe.wrong == "5 copies of 262144 bytes did not end in time");
    }
  }

  TEST_CASE("cards without peer access, or with too many peers, copy through the host") {
    for (const Links::Kind kind : {Links::Kind::apart, Links::Kind::too_many}) {
      const ScopedLayer scope(std::make_shared<Links>(kind));
      for (const LinkProbe& probe : probe_cuda_links(gpus(2), 30)) {
        CHECK(probe.way == "through the host");
        CHECK(probe.wrong.empty());
      }
      CHECK(Links::enabled == 0);
    }
  }

  TEST_CASE("a session without GPUs has no links") {
    CHECK_THROWS_AS(probe_cuda_links({}, 1), ValueError);
  }
}
