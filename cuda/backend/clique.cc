#include "cuda/backend/clique.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/device/cancellable_wait.h"
#include "core/graph/error.h"
#include "cuda/backend/check.h"

namespace towerflow::cuda {

/// Groups are held meanwhile: see Driver::clique.
Clique::Clique(std::shared_ptr<Driver> driver, std::vector<int> cards)
    : driver_(std::move(driver)), cards_(std::move(cards)) {
  driver_->need(Group::nccl);
  driver_->group_order().add(cards_);
  try {
    make_communicators();
  } catch (...) {
    driver_->group_order().remove(cards_, *this);
    throw;
  }
}

/// Nothing is left in the streams: those who may put something there keep the clique.
Clique::~Clique() {
  const auto held = driver_->hold_groups();
  driver_->group_order().remove(cards_, *this);
  for (const ncclComm_t one : communicators_) driver_->table().ncclCommDestroy(one);
}

void Clique::make_communicators() {
  std::vector<ncclComm_t> made(cards_.size(), nullptr);
  TOWERFLOW_CUDA(driver_->table(),
                 ncclCommInitAll(made.data(), static_cast<int>(cards_.size()), cards_.data()));
  communicators_ = std::move(made);
}

Clique::Meeting& Clique::meeting_of(const std::string& call, const Cancellation& run) {
  Meeting* free = nullptr;
  for (const auto& meeting : meetings_) {
    if (meeting->run == nullptr)
      free = meeting.get();
    else if (meeting->run == &run && meeting->call == call)
      return *meeting;
  }
  if (free == nullptr) free = meetings_.emplace_back(std::make_unique<Meeting>()).get();
  free->call = call;
  free->run = &run;
  free->shares.assign(cards_.size(), {});
  free->here = free->left = 0;
  free->over = false;
  free->error = nullptr;
  return *free;
}

void Clique::sum(const std::string& call, std::size_t rank, const Share& share, Cancellation& run) {
  std::unique_lock lock(mutex_);
  Meeting& meeting = meeting_of(call, run);
  meeting.shares[rank] = share;
  if (++meeting.here == cards_.size()) {
    // Taken first: whoever holds it may wait for an abort, which needs the other lock.
    lock.unlock();
    const auto alone = driver_->hold_groups();
    lock.lock();
    if (meeting.here == cards_.size()) {  // no rank has left since the run was cancelled
      try {
        make_call(meeting);
      } catch (...) {
        meeting.error = std::current_exception();
      }
      meeting.over = true;
      changed_.notify_all();
    }
  }
  lock.unlock();
  wait_until_reached(
      mutex_, changed_, [&] { return meeting.over.load(); }, &run);
  lock.lock();
  const bool over = meeting.over;
  const std::exception_ptr error = meeting.error;
  const bool last = over ? ++meeting.left == cards_.size() : --meeting.here == 0;
  if (last) meeting.run = nullptr;
  if (!over) throw errors::CancelledError("the run was cancelled");
  if (error != nullptr) std::rethrow_exception(error);
}

void Clique::make_call(const Meeting& meeting) {
  const Table& table = driver_->table();
  if (communicators_.empty()) make_communicators();
  GroupOrder& order = driver_->group_order();
  for (std::size_t rank = 0; rank < cards_.size(); ++rank) {
    order.begin(cards_[rank], *this, meeting.shares[rank].stream);
  }
  TOWERFLOW_CUDA(table, ncclGroupStart());
  ncclResult_t status = ncclSuccess;
  for (std::size_t rank = 0; rank < cards_.size() && status == ncclSuccess; ++rank) {
    const Share& share = meeting.shares[rank];
    status = table.ncclAllReduce(share.from, share.to, share.elements, share.type, ncclSum,
                                 communicators_[rank], share.stream);
  }
  const ncclResult_t ended = table.ncclGroupEnd();
  if (status == ncclSuccess) status = ended;
  if (status == ncclSuccess) {
    for (std::size_t rank = 0; rank < cards_.size(); ++rank) {
      order.end(cards_[rank], *this, meeting.shares[rank].stream);
    }
    return;
  }
  const Failure failure = describe(table, status, "table.ncclAllReduce(..)");
  // Some ranks may have got their part.
  abort_locked(failure.message());
  raise_failure(failure);
}

std::optional<std::string> Clique::await(cudaStream_t stream, unsigned aborts) {
  constexpr int kWithoutPause = 200, kBetweenLooks = 50;
  for (int asked = 0;; ++asked) {
    const cudaError_t status = driver_->table().cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) {
      if (status != cudaSuccess) {
        raise_failure(describe(driver_->table(), status, "table.cudaStreamQuery(stream)"));
      }
      break;
    }
    driver_->table().cudaGetLastError();
    if (asked < kWithoutPause) {
      std::this_thread::yield();
      continue;
    }
    if (aborts_ == aborts && asked % kBetweenLooks == 0) find_error();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (aborts_ == aborts) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return reason_;
}

/// Aborts all calls if a rank of one has failed.
void Clique::find_error() {
  const std::lock_guard lock(mutex_);
  for (const ncclComm_t one : communicators_) {
    ncclResult_t status = ncclSuccess;
    TOWERFLOW_CUDA(driver_->table(), ncclCommGetAsyncError(one, &status));
    if (status == ncclSuccess || status == ncclInProgress) continue;
    abort_locked(describe(driver_->table(), status, "table.ncclAllReduce(..)").message());
    return;
  }
}

void Clique::abort(std::string reason) noexcept {
  const std::lock_guard lock(mutex_);
  abort_locked(std::move(reason));
}

/// The streams that wait for the calls go on then.
void Clique::abort_locked(std::string reason) noexcept {
  if (communicators_.empty()) return;
  for (const ncclComm_t one : std::exchange(communicators_, {})) {
    driver_->table().ncclCommAbort(one);
  }
  reason_ = std::move(reason);
  ++aborts_;
}

}  // namespace towerflow::cuda
