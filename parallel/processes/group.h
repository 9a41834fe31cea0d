#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/graph/types.h"

namespace towerflow {
class Cancellation;
}

namespace towerflow::parallel::processes {
class Exchange;
class MessageEngine;
}  // namespace towerflow::parallel::processes

namespace towerflow::parallel::types {

/// The processes that train together: those that `mpirun` has started, or this one alone.
///
/// A thread of the group sends and receives while the program computes; a call that waits does so
/// itself. Every process must make the same collective calls in the same order. A call that waits
/// throws
///
///   DeadlineExceededError  a process did not take part within `time_limit`; the message names it
///   UnavailableError       a message failed
///   AbortedError           an earlier call has failed: the group cannot be used any more
///
/// Thread-safe.
class ProcessGroup {
 public:
  using Open = std::function<std::unique_ptr<processes::MessageEngine>()>;
  using SharedExchange = std::shared_ptr<processes::Exchange>;

  /// Makes a group of one process.
  ProcessGroup();
  /// Joins the group of an engine, which `open` makes on the thread of the group.
  explicit ProcessGroup(const Open& open);
  /// Leaves the group once every process does, waiting for at most `time_limit`. If that or an
  /// earlier call fails, ends all processes, which cannot go on without this one.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns whether the processes can read each other's memory, since all are on one host.
  bool shares_memory() const { return shares_memory_; }

  /// Seconds that a call waits for the other processes; 120 at first.
  double time_limit() const;
  /// Throws ValueError unless the limit is positive.
  void set_time_limit(double seconds);

  /// Waits until all processes have called it.
  void barrier(const std::string& what = "a barrier");
  /// Returns the bytes that each process has given, by rank.
  std::vector<std::string> all_gather(std::string bytes, const std::string& what);
  /// Returns the bytes that process 0 has given.
  std::string broadcast(std::string bytes, const std::string& what);

  /// Begins an exchange, which goes on while the program computes.
  void start(const SharedExchange& exchange);
  /// Waits for the end of an exchange, or throws CancelledError if the run is cancelled.
  void wait(const processes::Exchange& exchange, Cancellation* cancellation = nullptr);
  /// Begins an exchange and waits for its end.
  void run(const SharedExchange& exchange);

  /// Writes "rank 2 of 4: TEXT" to the standard error, and ends all processes with exit code 1. For
  /// programs, in the handler of their last resort; the library calls it nowhere.
  [[noreturn]] void abort(std::string_view text);

 private:
  struct Request {
    processes::Exchange* exchange = nullptr;
    int peer = 0, phase = 0, piece = 0;  ///< those of its Message
    bool sends = false;
  };
  class Traffic;

  void serve(const Open& open);
  void work();
  bool advance();
  static void route(Traffic& traffic, const Request& request);
  void begin(const SharedExchange& exchange);
  void wait_for(std::unique_lock<std::mutex>& lock, const processes::Exchange& exchange,
                Cancellation* cancellation);
  void finish_ended();
  void fail(const std::string& text);
  void check_working() const;
  std::string missing_text(const processes::Exchange& exchange) const;

  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;  ///< by rank; empty until known
  bool shares_memory_ = false;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable asked_;   ///< for the thread
  std::condition_variable joined_;  ///< for the constructor
  double time_limit_ = 120;
  bool has_joined_ = false, leaving_ = false, aborting_ = false;
  std::exception_ptr cannot_join_;
  std::string failure_;   ///< of the group; empty while it works
  int waiting_ = 0;       ///< calls that wait, and look for messages themselves
  bool crowded_ = false;  ///< whether the processes of this host are more than its cores
  std::unique_ptr<processes::MessageEngine> engine_;
  std::vector<SharedExchange> active_;
  std::vector<Request> requests_;  ///< by number
  int under_way_ = 0;              ///< requests that have not ended
  std::vector<int> ended_;         ///< numbers of requests, between two steps of `advance`
  std::vector<Request> of_ended_;
};

}  // namespace towerflow::parallel::types

namespace towerflow::parallel {

/// Returns the group of this process. The first call joins it: if `mpirun` of Open MPI has started
/// the process, it opens the plug-in libtowerflow_mpi.so, which lies beside the library or the
/// command; otherwise the group has one process. In programs that handle signals in their own way,
/// the first call should come after that.
///
/// errors   NotFoundError: the plug-in is missing; UnavailableError: it or MPI cannot be started
ProcessGroup& process_group();

/// Returns whether `mpirun` has started this process.
bool started_by_mpirun();

}  // namespace towerflow::parallel
