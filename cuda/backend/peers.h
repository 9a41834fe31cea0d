#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace towerflow::cuda {

class Driver;

/// How copies between the cards of a process go: directly, where both cards can and a test copy
/// arrives right, otherwise through the host. Each pair is tested once. Thread-safe.
class PeerLinks {
 public:
  /// Lets these cards access each other's memory where they can, and tests the copies between them,
  /// both ways. Where bytes arrive wrong, takes the access back, so that CUDA copies through the
  /// host, and tests again.
  ///
  /// errors   UnavailableError: copies do not end within `seconds`, or are wrong through the host
  ///          too; the typed error of a call that fails
  void open(const Driver& driver, const std::vector<int>& cards, double seconds = 5);
  /// Returns whether copies between two cards go directly.
  bool is_direct(int one, int other) const;
  /// Returns what was wrong with direct copies between two cards; empty if nothing.
  std::string fault(int one, int other) const;

 private:
  struct Link {
    bool direct = false;
    std::string fault{};  ///< of direct copies
    std::string error{};  ///< why the cards cannot be used together
  };
  using Pair = std::pair<int, int>;

  static Link find(const Driver& driver, Pair cards, double seconds);
  const Link* known(int one, int other) const;

  mutable std::mutex mutex_;
  std::map<Pair, Link> links_;  ///< by the numbers of the cards, in order
};

}  // namespace towerflow::cuda
