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

/// Makes the enqueue operations of one queue runner take their inputs in turns, 0, 1, .., 0, 1, ..,
/// whatever the timing of their threads. Each then processes its input concurrently, but results
/// are admitted in the order of the turns. So several readers that share a queue of file names read
/// the same files, and produce their records in the same order, in every run.
///
/// An operation is skipped once all of its threads have ended.
class SourceTurns {
 public:
  /// `threads[i]` is the number of threads that run operation i.
  explicit SourceTurns(std::vector<std::size_t> threads) : live_(std::move(threads)) {}

  /// Notes that one of the threads of operation `member` has ended.
  void remove_thread(std::size_t member);
  /// Ends all waiting, since a node used by two runners has no single order.
  void dissolve();
  bool live() const;

  /// The turn of one run of operation `member`. Waiting for it ends with CancelledError if the run
  /// is cancelled. A run does not wait if all threads of the operation have ended.
  class Turn {
   public:
    Turn(SourceTurns& turns, std::size_t member, const QueueCaller& caller);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    /// Ends the turn, so that the next operation gets its turn. Returns a ticket for the line of
    /// enqueues.
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
  std::vector<std::size_t> live_;  // number of threads of each member
  std::size_t next_ = 0;           // the member whose turn it is
  bool busy_ = false;
  bool dissolved_ = false;
  std::shared_ptr<TicketLine> line_ = std::make_shared<TicketLine>();
};

/// The resource of a node in a session that holds the turns its runs take.
class NodeTurns final : public Resource {
 public:
  struct Assigned {
    std::shared_ptr<SourceTurns> turns;
    std::size_t member = 0;
  };
  /// Returns the name of a node's place; kernels make it once, so that runs do not allocate.
  static std::string name_of(const std::string& node) { return "_turn/" + node; }
  /// Returns the place of node `node`, creating it if needed.
  static NodeTurns& of(ResourceStore& resources, const std::string& node);
  /// Returns what was assigned to the node of this place; without turns if nothing was.
  static Assigned find(ResourceStore& resources, const std::string& place);

  /// Replaces what an earlier start of the runner assigned. If another live runner uses the node
  /// too, both go without turns.
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
  const NodeTurns::Assigned assigned = NodeTurns::find(args.run->resources, place);
  if (assigned.turns == nullptr) return take();
  SourceTurns::Turn turn(*assigned.turns, assigned.member, caller);
  take();
  args.run->ticket = turn.finish();
}

}  // namespace towerflow
