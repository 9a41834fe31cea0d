#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace towerflow {

class RunAccesses;

}  // namespace towerflow

namespace towerflow::types {

/// The order in which concurrent runs of a session access variables and queues. Runs that are given
/// one (RunOptions::interleaving) record it; after `replay`, runs with the same numbers repeat it:
/// each waits for its turn. A training whose runs race can so be repeated bit for bit.
///
/// Thread-safe. It must outlive the runs.
class Interleaving {
 public:
  Interleaving() = default;
  Interleaving(const Interleaving&) = delete;
  Interleaving& operator=(const Interleaving&) = delete;

  /// Lets the runs from now on repeat what was recorded. Variables and queues must be as they were
  /// when the recording began. It may be called again, for another repetition.
  void replay();
  bool replays() const;
  /// Returns the number of accesses recorded.
  std::size_t accesses() const;
  /// Returns whether a run of this number was recorded.
  bool contains(std::int64_t run) const;
  /// Returns whether a run of this number failed as it was recorded.
  bool has_failed(std::int64_t run) const;
  /// Ends a replay in which a recorded run will not be made. Runs that wait for a turn which comes
  /// after that run's turns throw CancelledError.
  void abandon(std::int64_t run);

 private:
  friend class towerflow::RunAccesses;

  /// How many accesses of an object come before one: writes since the beginning, and reads since
  /// the last write.
  struct Turn {
    std::uint64_t writes = 0, reads = 0;
  };
  struct Object {
    Turn now;
    std::mutex exclusive;  // held by a stateful op while it runs
  };
  using Turns = std::map<std::string, std::vector<Turn>>;  // of one run, by object

  mutable std::mutex mutex_;  // guards all but Object::exclusive
  std::condition_variable moved_;
  bool replaying_ = false;
  bool broken_ = false;  // a run failed during a replay: the turns after its own never come
  std::map<std::string, Object> objects_;
  std::map<std::int64_t, Turns> runs_;  // by RunOptions::run
  std::set<std::int64_t> failed_;       // recorded runs
};

}  // namespace towerflow::types
