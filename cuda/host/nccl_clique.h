#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cuda/host/nccl_call.h"
#include "cuda/host/visible.h"

namespace towerflow::cuda::host {

/// How long a rank waits for the others before that is an error: on cards it would wait for ever.
/// 30 s unless it was set.
TOWERFLOW_CUDA_VISIBLE void set_nccl_patience(std::chrono::milliseconds patience);

/// A status of NCCL with its text.
struct NcclError {
  ncclResult_t status = ncclSuccess;
  std::string text;
};

/// The time of a call, and who made it. Calls of one group have one number.
struct NcclIssue {
  std::uint64_t group = 0;
  std::uint64_t thread = 0;  ///< a number that no later thread gets again
  bool captured = false;     ///< for a graph: the thread does not wait for a kernel
};

/// Where the calls of some ranks meet. For a collective call that is each rank's call of the same
/// number; for a transfer, the calls of the same number between two ranks.
struct NcclPlace {
  int sender = -1, receiver = -1;  ///< of a transfer
  std::uint64_t number = 0;

  auto operator<=>(const NcclPlace&) const = default;
};

/// The ranks of one communicator. All of them are in this process.
class NcclClique {
 public:
  explicit NcclClique(int ranks);
  ~NcclClique();
  NcclClique(const NcclClique&) = delete;
  NcclClique& operator=(const NcclClique&) = delete;

  int size() const { return ranks_; }
  int device(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }

  /// Adds a rank on a device, and then waits for all ranks.
  std::optional<NcclError> join(int rank, int device);
  std::optional<NcclError> wait_for_all();

  /// Notes that a rank makes a call, and tells where it meets the others'. Fails if the others'
  /// calls of that place are different ones, if one thread calls for several ranks without a group,
  /// or if ranks use several communicators in different orders: on cards these hang, or mix data.
  std::optional<NcclError> issue(int rank, const NcclCall& call, const NcclIssue& how,
                                 NcclPlace& place);

  /// Brings a rank to the place of its call; addresses are the host's. `run` counts the runs of a
  /// captured call. Then `wait` waits until the data is exchanged.
  void arrive(int rank, const NcclCall& call, const NcclPlace& place, std::uint64_t run);
  cudaError_t wait(int rank, const NcclCall& call, const NcclPlace& place, std::uint64_t run);

  /// Ends all waits with an error, for all ranks.
  void fail(NcclError error);
  /// Ends all waits without one: what they wait for is not exchanged.
  void abort(int rank);
  NcclError error() const;

 private:
  /// A place at the time of the calls.
  struct Entry {
    NcclCall call;
    std::vector<std::optional<NcclIssue>> issues;  // by slot
    int issued = 0;
  };
  /// A place at the time of the work.
  struct Meeting {
    std::vector<std::optional<NcclCall>> calls;  // by slot
    std::size_t arrived = 0, left = 0;
    bool done = false;
  };
  using Key = std::pair<NcclPlace, std::uint64_t>;

  NcclPlace next_place(int rank, const NcclCall& call);
  std::size_t slots(const NcclPlace& place) const;
  std::size_t slot(int rank, const NcclCall& call) const;
  std::optional<NcclError> check_entry(int rank, const NcclCall& call, const NcclIssue& how,
                                       const Entry& entry) const;
  std::optional<NcclError> check_order(int rank, const NcclPlace& place,
                                       const NcclCall& call) const;
  std::string missing(const Meeting& meeting, const NcclPlace& place) const;

  const int ranks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> devices_;  // -1 until a rank has joined
  std::vector<std::uint64_t> collectives_;
  std::map<std::pair<int, int>, std::uint64_t> sends_, receives_;
  std::map<NcclPlace, Entry> entries_;  // that not all ranks have called; under the lock of all
  std::map<Key, Meeting> meetings_;
  NcclError error_;
  bool aborted_ = false;
};

}  // namespace towerflow::cuda::host
