#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/kernel.h"
#include "core/device/resource_store.h"
#include "core/device/ticket.h"
#include "ops/data_flow/queue_resource.h"

namespace towerflow {

/// The enqueue operations of one queue runner take what they enqueue in turns, 0, 1, .., 0, 1, ..,
/// whatever the threads that run them are slowed down by; what each then makes of it is made at the
/// same time and admitted in the order of the turns. So several readers that share a queue of file
/// names get the same files, and their records the same order, in every run.
///
/// An operation whose threads have all ended is passed over from the place where it ended.
class SourceTurns {
 public:
  /// `threads[i]` threads run operation i.
  explicit SourceTurns(std::vector<std::size_t> threads) : live_(std::move(threads)) {}

  /// Tells that one of the threads of operation `member` has ended.
  void remove_thread(std::size_t member);
  /// Nobody waits any longer: something that two runners use has no one order.
  void dissolve();
  bool live() const;

  /// The turn of one run of operation `member`. Waiting for it ends with CancelledError when the
  /// run is cancelled. A run that no thread of the runner makes does not wait.
  class Turn {
   public:
    Turn(SourceTurns& turns, std::size_t member, const QueueCaller& caller);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    /// Ends the turn, so that the next operation has its turn. Returns a place in the line of those
    /// that enqueue.
    Ticket finish();

   private:
    SourceTurns& turns_;
    bool held_ = false;
  };

 private:
  bool may_take_turn(std::size_t member) const;
  void advance_turn();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> live_;  // threads by member
  std::size_t next_ = 0;           // the member whose turn it is
  bool busy_ = false;
  bool dissolved_ = false;
  std::shared_ptr<TicketLine> line_ = std::make_shared<TicketLine>();
};

/// Tells a node of a session whose turn its runs take.
class SourcePlace final : public Resource {
 public:
  struct Assigned {
    std::shared_ptr<SourceTurns> turns;
    std::size_t member = 0;
  };
  /// The name of a node's place; made once, so that a run allocates nothing.
  static std::string name_of(const std::string& node) { return "_turn/" + node; }
  /// The place of node `node`.
  static SourcePlace& of(ResourceStore& resources, const std::string& node);
  /// What was assigned to the node of this place; no turns when nothing was.
  static Assigned find(ResourceStore& resources, const std::string& place);

  /// Replaces what an earlier start of the runner assigned; where another runner uses the node as
  /// well, both go without turns.
  void assign(Assigned assigned);

 private:
  std::mutex mutex_;
  Assigned assigned_;
};

/// Calls `take` in the turn of the node whose place is named `place`, and gives the run the turn's
/// ticket. Calls it at once if the node has no turns.
template <class Take>
void run_in_turn(const LaunchArgs& args, const std::string& place, const QueueCaller& caller,
                 Take&& take) {
  const SourcePlace::Assigned assigned = SourcePlace::find(args.run->resources, place);
  if (assigned.turns == nullptr) return take();
  SourceTurns::Turn turn(*assigned.turns, assigned.member, caller);
  take();
  args.run->ticket = turn.finish();
}

}  // namespace towerflow
