#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/device/cancellation.h"
#include "cuda/backend/driver.h"

namespace towerflow::cuda {

/// Communicators of NCCL, one for each of some cards, and the calls on them.
///
/// The queues of the cards are driven by different threads. A thread that comes to a call waits on
/// the host until those of all ranks have come; the last one makes the call for all of them, as a
/// group. This excludes what would make cards wait for each other for ever:
///
/// - A call that not all ranks make: if a queue fails before it, the run is cancelled, the threads
///   that wait leave, and no stream has got anything.
/// - Calls in different orders: all cards get a group at one moment, under one lock of the process
///   (Driver::hold_groups), whichever runs and sessions they are of. Streams only wait for what was
///   enqueued before, so the order in which the host enqueues is one in which all work can be done.
///   The streams of cliques with common cards wait for each other (GroupOrder).
/// - A call of CUDA that waits for a card while a group is on some cards and not yet on others: it
///   is made under the same lock.
///
/// The threads themselves come to the calls of a plan in one order, since the drafts of a call form
/// a meeting (core/runtime/schedule.cc). A card that fails later would still leave the others
/// waiting: queues look for that while they wait for the end of their work.
class Clique {
 public:
  /// The ranks are the cards in this order. Makes the communicators, which takes long; groups must
  /// be held.
  Clique(std::shared_ptr<Driver> driver, std::vector<int> cards);
  ~Clique();
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  /// The part of one rank in a call.
  struct Share {
    const void* from = nullptr;
    void* to = nullptr;
    std::size_t elements = 0;
    ncclDataType_t type = ncclFloat32;
    cudaStream_t stream = nullptr;
  };
  /// Puts the sum of the ranks' arrays into the streams of all of them. Returns when that is done,
  /// or throws CancelledError. `call` names the call in the run.
  void sum(const std::string& call, std::size_t rank, const Share& share, Cancellation& run);

  /// Waits until the work in a stream has ended, and aborts all calls if a rank has failed, so that
  /// it never would. Throws what CUDA says of the stream. Returns the reason if calls were aborted
  /// since there were `aborts`.
  std::optional<std::string> await(cudaStream_t stream, unsigned aborts);
  unsigned aborts() const { return aborts_; }
  /// Ends the calls that are under way, whose results are undefined. The next call makes the
  /// communicators anew.
  void abort() noexcept { abort("another device has failed"); }

 private:
  /// Where the threads of the ranks meet for a call.
  struct Meeting {
    std::string call;
    const Cancellation* run = nullptr;  // null: free
    std::vector<Share> shares;
    std::size_t here = 0, left = 0;
    std::atomic<bool> over{false};
    std::exception_ptr error{};
  };

  Meeting& meeting_of(const std::string& call, const Cancellation& run);
  void make_communicators();
  void make_call(const Meeting& meeting);
  void find_error();
  void abort(std::string reason) noexcept;
  void abort_locked(std::string reason) noexcept;

  std::shared_ptr<Driver> driver_;
  const std::vector<int> cards_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Meeting>> meetings_;  // used again and again
  std::vector<ncclComm_t> communicators_;           // empty: aborted
  std::string reason_;                              // of the last abort
  std::atomic<unsigned> aborts_{0};
};

}  // namespace towerflow::cuda
