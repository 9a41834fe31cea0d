#include "cuda/backend/peers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"
#include "cuda/backend/check.h"
#include "cuda/backend/driver.h"
#include "cuda/backend/link_test.h"

namespace towerflow::cuda {
namespace {

constexpr std::size_t kTestBytes = std::size_t{1} << 16;

using Pair = std::pair<int, int>;

/// Lets card `one` access the memory of `other`; returns whether it can.
bool enable_access(const Driver& driver, int one, int other) {
  const Table& table = driver.table();
  int can = 0;
  TOWERFLOW_CUDA(table, cudaDeviceCanAccessPeer(&can, one, other));
  if (can == 0) return false;
  driver.select(one);
  const cudaError_t status = table.cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    table.cudaGetLastError();
  } else if (status == cudaErrorTooManyPeers) {  // 8 without NVSwitch
    table.cudaGetLastError();
    return false;
  } else if (status != cudaSuccess) {
    raise_failure(describe(table, status, "table.cudaDeviceEnablePeerAccess(other, 0)"));
  }
  return true;
}

void disable_access(const Driver& driver, int one, int other) {
  driver.select(one);
  TOWERFLOW_CUDA(driver.table(), cudaDeviceDisablePeerAccess(other));
}

/// Returns what is wrong with the copies between two cards, first one way, then the other.
LinkResult test_both_ways(const Driver& driver, Pair cards, double seconds) {
  for (const auto& [from, to] : {cards, Pair{cards.second, cards.first}}) {
    LinkResult found = test_link(driver, from, to, kTestBytes, seconds);
    if (found.wrong.empty()) continue;
    found.wrong = fmt::format("from card {} to card {}, {}", from, to, found.wrong);
    return found;
  }
  return {};
}

}  // namespace

PeerLinks::Link PeerLinks::find(const Driver& driver, Pair cards, double seconds) {
  const auto [one, other] = cards;
  const bool reads = enable_access(driver, one, other);
  const bool is_read = enable_access(driver, other, one);
  Link link{.direct = reads || is_read};
  LinkResult found = test_both_ways(driver, cards, seconds);
  if (link.direct && found.ended && !found.wrong.empty()) {
    if (reads) disable_access(driver, one, other);
    if (is_read) disable_access(driver, other, one);
    link = {.direct = false, .fault = std::move(found.wrong)};
    found = test_both_ways(driver, cards, seconds);
  }
  link.error = std::move(found.wrong);
  return link;
}

void PeerLinks::open(const Driver& driver, const std::vector<int>& cards, double seconds) {
  const std::lock_guard lock(mutex_);
  for (auto one = cards.begin(); one != cards.end(); ++one) {
    for (auto other = one + 1; other != cards.end(); ++other) {
      if (*one == *other) continue;
      const Pair pair = std::minmax(*one, *other);
      auto at = links_.find(pair);
      if (at == links_.end()) at = links_.emplace(pair, find(driver, pair, seconds)).first;
      if (at->second.error.empty()) continue;
      throw errors::UnavailableError(
          fmt::format("copies between GPUs fail: {}", at->second.error),
          {.hint = "leave one of the cards out (visible_device_list), or look at the access "
                   "control of PCIe (ACS) and the IOMMU, which may redirect copies"});
    }
  }
}

const PeerLinks::Link* PeerLinks::known(int one, int other) const {
  const auto at = links_.find(std::minmax(one, other));
  return at == links_.end() ? nullptr : &at->second;
}

bool PeerLinks::is_direct(int one, int other) const {
  const std::lock_guard lock(mutex_);
  const Link* link = known(one, other);
  return link != nullptr && link->direct;
}

std::string PeerLinks::fault(int one, int other) const {
  const std::lock_guard lock(mutex_);
  const Link* link = known(one, other);
  return link == nullptr ? "" : link->fault;
}

}  // namespace towerflow::cuda
