#include "cuda/host/nccl_clique.h"

#include <algorithm>
#include <set>

#include "cuda/host/control.h"

namespace towerflow::cuda::host {
namespace {

std::atomic<std::int64_t> patience_ms{30'000};

// Calls of different communicators are compared, so there is one lock for all issues.
std::mutex all_mutex;
auto& all_cliques = *new std::set<NcclClique*>;  // never destroyed, as the handles

std::chrono::milliseconds patience() { return std::chrono::milliseconds(patience_ms); }

std::string patience_text() {
  return std::to_string(patience_ms / 1000) + "." + std::to_string(patience_ms % 1000 / 100) + " s";
}

std::string rank_text(int rank, int device) {
  return "rank " + std::to_string(rank) + " (device " + std::to_string(device) + ")";
}

NcclError misuse(std::string text) { return {ncclInvalidUsage, std::move(text)}; }

}  // namespace

void set_nccl_patience(std::chrono::milliseconds patience) { patience_ms = patience.count(); }

NcclClique::NcclClique(int ranks)
    : ranks_(ranks),
      devices_(static_cast<std::size_t>(ranks), -1),
      collectives_(static_cast<std::size_t>(ranks), 0) {
  const std::lock_guard lock(all_mutex);
  all_cliques.insert(this);
}

NcclClique::~NcclClique() {
  const std::lock_guard lock(all_mutex);
  all_cliques.erase(this);
}

std::optional<NcclError> NcclClique::join(int rank, int device) {
  // Other communicators look up devices when they compare orders.
  const std::lock_guard all_lock(all_mutex);
  std::unique_lock lock(mutex_);
  if (devices_[static_cast<std::size_t>(rank)] != -1) {
    return misuse("rank " + std::to_string(rank) + " joins twice");
  }
  const auto same = std::find(devices_.begin(), devices_.end(), device);
  if (same != devices_.end()) {
    lock.unlock();
    // The ranks that wait get the same error.
    fail(misuse("ranks " + std::to_string(same - devices_.begin()) + " and " +
                std::to_string(rank) + " are both on device " + std::to_string(device)));
    return error();
  }
  devices_[static_cast<std::size_t>(rank)] = device;
  changed_.notify_all();
  return std::nullopt;
}

std::optional<NcclError> NcclClique::wait_for_all() {
  std::unique_lock lock(mutex_);
  const auto missing_rank = [&] { return std::find(devices_.begin(), devices_.end(), -1); };
  const bool came = changed_.wait_for(lock, patience(), [&] {
    return missing_rank() == devices_.end() || error_.status != ncclSuccess || aborted_;
  });
  if (error_.status != ncclSuccess) return error_;
  if (aborted_) return NcclError{ncclRemoteError, "the communicator was aborted"};
  if (came) return std::nullopt;
  return misuse("rank " + std::to_string(missing_rank() - devices_.begin()) +
                " did not join within " + patience_text() +
                "; a thread that joins for several ranks needs a group");
}

std::size_t NcclClique::slots(const NcclPlace& place) const {
  return place.sender >= 0 ? 2 : static_cast<std::size_t>(ranks_);
}

std::size_t NcclClique::slot(int rank, const NcclCall& call) const {
  if (call.kind == NcclCall::Kind::send) return 0;
  return call.kind == NcclCall::Kind::receive ? 1 : static_cast<std::size_t>(rank);
}

NcclPlace NcclClique::next_place(int rank, const NcclCall& call) {
  if (call.kind == NcclCall::Kind::send) return {rank, call.root, sends_[{rank, call.root}]++};
  if (call.kind == NcclCall::Kind::receive) {
    return {call.root, rank, receives_[{call.root, rank}]++};
  }
  return {-1, -1, collectives_[static_cast<std::size_t>(rank)]++};
}

std::optional<NcclError> NcclClique::check_entry(int rank, const NcclCall& call,
                                                 const NcclIssue& how, const Entry& entry) const {
  for (std::size_t other = 0; other < entry.issues.size(); ++other) {
    const auto& issue = entry.issues[other];
    if (!issue) continue;
    if (!call.matches(entry.call)) {
      return misuse(rank_text(rank, device(rank)) + " calls " + call.text() + ", another rank " +
                    entry.call.text());
    }
    // The first kernel may keep the thread from launching the second, for which it waits.
    if (issue->thread == how.thread && issue->group != how.group && !how.captured &&
        !issue->captured) {
      return misuse("one thread calls " + call.text() +
                    " for several ranks, one after the other, without a group");
    }
  }
  return std::nullopt;
}

std::optional<NcclError> NcclClique::check_order(int rank, const NcclPlace& place,
                                                 const NcclCall& call) const {
  if (place.sender >= 0) return std::nullopt;
  const auto mine = entries_.find(place);
  const int here = device(rank);
  for (const NcclClique* other : all_cliques) {
    const auto at = std::find(other->devices_.begin(), other->devices_.end(), here);
    if (other == this || at == other->devices_.end()) continue;
    // Nobody waits for what has failed or was aborted.
    if (other->error().status != ncclSuccess) continue;
    for (const auto& [other_place, entry] : other->entries_) {
      const auto slot_here = static_cast<std::size_t>(at - other->devices_.begin());
      if (other_place.sender >= 0 || entry.issues[slot_here]) continue;
      // Another device has called the other operation before this one; this device has not.
      for (std::size_t r = 0; r < mine->second.issues.size(); ++r) {
        const auto there = std::find(other->devices_.begin(), other->devices_.end(), devices_[r]);
        if (!mine->second.issues[r] || there == other->devices_.end()) continue;
        const auto& earlier =
            entry.issues[static_cast<std::size_t>(there - other->devices_.begin())];
        if (earlier && earlier->group < mine->second.issues[r]->group) {
          return misuse("device " + std::to_string(devices_[r]) + " calls " + entry.call.text() +
                        " of one communicator before " + call.text() + " of another, device " +
                        std::to_string(here) + " after it: kernels may wait for each other");
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<NcclError> NcclClique::issue(int rank, const NcclCall& call, const NcclIssue& how,
                                           NcclPlace& place) {
  const std::lock_guard lock(all_mutex);
  place = next_place(rank, call);
  const auto [at, is_new] = entries_.try_emplace(place);
  Entry& entry = at->second;
  if (is_new) {
    entry.call = call;
    entry.issues.resize(slots(place));
  }
  std::optional<NcclError> error = check_entry(rank, call, how, entry);
  if (!error) error = check_order(rank, place, call);
  if (error) return error;
  entry.issues[slot(rank, call)] = how;
  if (++entry.issued == static_cast<int>(entry.issues.size())) entries_.erase(at);
  return std::nullopt;
}

void NcclClique::arrive(int rank, const NcclCall& call, const NcclPlace& place, std::uint64_t run) {
  const std::lock_guard lock(mutex_);
  Meeting& meeting = meetings_[{place, run}];
  meeting.calls.resize(slots(place));
  meeting.calls[slot(rank, call)] = call;
  if (++meeting.arrived < meeting.calls.size() || error_.status != ncclSuccess || aborted_) return;
  std::vector<NcclCall> calls;
  for (const auto& one : meeting.calls) calls.push_back(*one);
  exchange(calls);
  meeting.done = true;
  changed_.notify_all();
}

cudaError_t NcclClique::wait(int rank, const NcclCall& call, const NcclPlace& place,
                             std::uint64_t run) {
  std::unique_lock lock(mutex_);
  Meeting& meeting = meetings_[{place, run}];
  const auto ends = [&] { return meeting.done || aborted_ || error_.status != ncclSuccess; };
  const auto deadline = std::chrono::steady_clock::now() + patience();
  // Work that failed elsewhere ends all streams, so that a rank may never come.
  constexpr std::chrono::milliseconds kLook(20);
  bool failed_elsewhere = false;
  while (!ends() && std::chrono::steady_clock::now() < deadline && !failed_elsewhere) {
    changed_.wait_for(lock, kLook, ends);
    lock.unlock();
    failed_elsewhere = found_fault().has_value();
    lock.lock();
  }
  if (!ends()) {
    error_ = {ncclRemoteError,
              rank_text(rank, device(rank)) + " waits in " + call.text() +
                  (failed_elsewhere ? ", but other work failed" : " since " + patience_text()) +
                  ": " + missing(meeting, place)};
    changed_.notify_all();
  }
  const bool is_right = meeting.done || aborted_;
  if (++meeting.left == meeting.arrived && meeting.done) meetings_.erase({place, run});
  return is_right ? cudaSuccess : cudaErrorLaunchFailure;
}

std::string NcclClique::missing(const Meeting& meeting, const NcclPlace& place) const {
  std::string text;
  for (std::size_t i = 0; i < meeting.calls.size(); ++i) {
    if (meeting.calls[i]) continue;
    const int rank = place.sender < 0 ? static_cast<int>(i)
                     : i == 0         ? place.sender
                                      : place.receiver;
    text += (text.empty() ? "" : ", ") + rank_text(rank, device(rank));
  }
  return text + " did not come";
}

void NcclClique::fail(NcclError error) {
  const std::lock_guard lock(mutex_);
  if (error_.status == ncclSuccess) error_ = std::move(error);
  changed_.notify_all();
}

void NcclClique::abort(int rank) {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  if (error_.status == ncclSuccess) {
    error_ = {ncclRemoteError, "rank " + std::to_string(rank) + " aborted the communicator"};
  }
  changed_.notify_all();
}

NcclError NcclClique::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace towerflow::cuda::host
