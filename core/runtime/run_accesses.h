#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/cancellation.h"
#include "core/device/resource_store.h"
#include "core/runtime/interleaving.h"

namespace towerflow {

/// Watches how one of several concurrent runs accesses variables: how stale the values are from
/// which it computes updates, and in which order with the other runs. Thread-safe.
class RunAccesses {
 public:
  /// An access of an instruction.
  struct Access {
    std::string object;
    bool writes = false;
  };

  /// `interleaving` may be null; `run` is the number of the run in it.
  RunAccesses(Interleaving* interleaving, std::int64_t run)
      : interleaving_(interleaving), run_(run) {}

  /// Waits until it is the turn of all accesses, if an interleaving is replayed. No lock of the
  /// runtime may be held. Throws CancelledError if the run is cancelled or another one failed, and
  /// FailedPreconditionError if the recorded run made no such access.
  void await_turn(const std::vector<Access>& accesses, Cancellation& cancellation);
  /// Notes accesses whose locks are held.
  void note(const std::vector<Access>& accesses);
  /// Ends the waits of other runs for the turns that this run will not take, since it failed.
  void abandon();
  /// Returns the lock of a stateful object, to be held while an op uses it; null without an
  /// interleaving.
  std::mutex* exclusive(const std::string& object);

  /// Notes that a value of a variable with `version` writes is read.
  void note_read(const std::string& variable, std::uint64_t version);
  /// Notes that a variable with `version` writes is written.
  void note_write(const std::string& variable, std::uint64_t version);
  /// Returns the largest number of writes by others between the first read of a variable and its
  /// write.
  std::int64_t staleness() const;

 private:
  struct Seen {
    std::uint64_t version = 0;  // at the first read
    std::uint64_t own = 0;      // writes of this run
  };

  bool is_turn(const std::vector<Access>& accesses) const;
  /// Returns whether the run has made all accesses that were recorded.
  bool has_taken_all() const;

  Interleaving* interleaving_;
  std::int64_t run_;
  std::map<std::string, std::size_t> next_;  // guarded by the interleaving's mutex
  mutable std::mutex mutex_;                 // guards the members below
  std::map<std::string, Seen> seen_;
  std::int64_t staleness_ = 0;
};

}  // namespace towerflow
