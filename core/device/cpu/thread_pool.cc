#include "core/device/cpu/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "core/device/cpu/cpu_kernel.h"
#include "core/device/start_thread.h"

namespace towerflow {
namespace {

// The pool in which this thread occupies a core, if any.
thread_local ThreadPool* computing_in = nullptr;

// Whether this thread claims the slices of its next kernel from the last one on, if it is alone.
thread_local bool from_last = false;

// Longer than the small kernels that run between two products in an LSTM cell. A helper that slept
// through them would wake too late to help with the second product.
constexpr auto kSpin = std::chrono::microseconds(200);

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Spins until `done` or until kSpin has passed; the clock is read only every 64 rounds.
template <class Done>
bool spin_until(Done done) {
  const auto deadline = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int round = 0; round < 64; ++round) {
      if (done()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return done();
}

std::uint64_t claim_word(std::uint64_t first, std::uint64_t end) { return first << 32 | end; }
std::uint32_t first_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
std::uint32_t end_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

}  // namespace

ThreadPool::ThreadPool(int cores)
    : cores_(cores > 0 ? cores
                       : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {
  threads_.reserve(static_cast<std::size_t>(cores_ - 1));
  try {
    while (helpers() < cores_ - 1) threads_.push_back(start_thread([this] { helper_loop(); }));
  } catch (const std::exception&) {
    // With fewer helpers the pool is slower but gives the same results. Not rethrown, since the
    // threads already started would have to be joined.
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_seq_cst);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::publish() {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  // Waiting threads see the epoch change; no helper has to be woken for their cores.
  const int taken = computing_.load(std::memory_order_seq_cst);
  if (taken + waiting_.load(std::memory_order_seq_cst) < cores_) epoch_.notify_all();
}

void ThreadPool::take_core() { computing_.fetch_add(1, std::memory_order_seq_cst); }

bool ThreadPool::try_take_core() {
  int now = computing_.load(std::memory_order_seq_cst);
  while (now < cores_)
    if (computing_.compare_exchange_weak(now, now + 1, std::memory_order_seq_cst)) return true;
  return false;
}

// A caller that publishes work while all cores are taken wakes nobody, so the thread that frees a
// core checks for work afterwards. Both sides write first and then read with sequential
// consistency, so at least one of them sees the other's write.
void ThreadPool::release_core() {
  computing_.fetch_sub(1, std::memory_order_seq_cst);
  if (has_work()) publish();
}

bool ThreadPool::has_work() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    const std::uint64_t word = slot.claim.load(std::memory_order_seq_cst);
    return first_of(word) < end_of(word);
  });
}

ThreadPool::Slot* ThreadPool::acquire_slot() {
  for (Slot& slot : slots_)
    if (!slot.used.load(std::memory_order_relaxed) &&
        !slot.used.exchange(true, std::memory_order_acquire))
      return &slot;
  return nullptr;
}

bool ThreadPool::run_one_slice(Slot& slot, Side side) {
  std::uint64_t word = slot.claim.load(std::memory_order_acquire);
  std::uint64_t left = 0;
  do {
    if (first_of(word) >= end_of(word)) return false;
    left = side == Side::first ? claim_word(first_of(word) + 1, end_of(word))
                               : claim_word(first_of(word), end_of(word) - 1);
  } while (!slot.claim.compare_exchange_weak(word, left, std::memory_order_acq_rel,
                                             std::memory_order_acquire));
  const int slice = static_cast<int>(side == Side::first ? first_of(word) : end_of(left));
  try {
    slot.call(slot.context, slice);
  } catch (...) {
    const std::lock_guard lock(slot.error_mutex);
    if (!slot.error || slice < slot.error_slice) {
      slot.error = std::current_exception();
      slot.error_slice = slice;
    }
  }
  // The caller may reuse the slot as soon as `pending` is zero. If another call owns it by now, the
  // notification only causes a spurious wake-up.
  if (slot.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) slot.pending.notify_all();
  return true;
}

void ThreadPool::run(int slices, Call call, void* context) {
  const Computing computing(*this);
  Slot* slot = slices > 1 && !threads_.empty() ? acquire_slot() : nullptr;
  if (slot == nullptr) return run_inline(slices, call, context);
  slot->call = call;
  slot->context = context;
  slot->pending.store(slices, std::memory_order_relaxed);
  slot->claim.store(claim_word(0, static_cast<std::uint64_t>(slices)), std::memory_order_seq_cst);
  const bool alone = computing_.load(std::memory_order_seq_cst) >= cores_;
  if (!alone) publish();
  const Side side = alone ? next_side() : Side::first;
  while (run_one_slice(*slot, side)) {
  }
  const auto is_finished = [slot] { return slot->pending.load(std::memory_order_acquire) == 0; };
  if (!is_finished() && !spin_until(is_finished)) {
    for (int left; (left = slot->pending.load(std::memory_order_acquire)) != 0;)
      slot->pending.wait(left, std::memory_order_acquire);
  }
  std::exception_ptr error = std::exchange(slot->error, nullptr);
  slot->used.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void ThreadPool::run_inline(int slices, Call call, void* context) {
  const bool backwards = slices > 1 && next_side() == Side::last;
  std::exception_ptr error;
  int error_slice = slices;
  for (int i = 0; i < slices; ++i) {
    const int slice = backwards ? slices - 1 - i : i;
    try {
      call(context, slice);
    } catch (...) {
      if (slice < error_slice) error = std::current_exception();
      error_slice = std::min(slice, error_slice);
    }
  }
  if (error) std::rethrow_exception(error);
}

ThreadPool::Side ThreadPool::next_side() {
  return std::exchange(from_last, !from_last) ? Side::last : Side::first;
}

bool ThreadPool::help(const Condition* stop) {
  bool worked = false;
  for (Slot& slot : slots_) {
    // A helper stops after its slice if new callers have exceeded the budget meanwhile.
    while (computing_.load(std::memory_order_relaxed) <= cores_ &&
           (stop == nullptr || !(*stop)()) && run_one_slice(slot, Side::last))
      worked = true;
  }
  return worked;
}

// Takes a core and slices, if there are any; returns whether it did. `stop` is that of a thread in
// help_until, null for a helper.
bool ThreadPool::work_as_helper(const Condition* stop) {
  if (!has_work() || !try_take_core()) return false;
  computing_in = this;
  if (stop != nullptr) waiting_.fetch_sub(1, std::memory_order_seq_cst);  // it computes now
  const bool worked = help(stop);
  if (stop != nullptr) waiting_.fetch_add(1, std::memory_order_seq_cst);
  computing_in = nullptr;
  computing_.fetch_sub(1, std::memory_order_seq_cst);
  return worked;
}

void ThreadPool::helper_loop() {
  for (;;) {
    const std::uint32_t seen = epoch_.load(std::memory_order_seq_cst);
    if (stop_.load(std::memory_order_seq_cst)) return;
    if (work_as_helper(nullptr)) continue;
    // Spinning uses a core too, so it ends when all cores are taken.
    const auto has_new_work = [this, seen] {
      return epoch_.load(std::memory_order_relaxed) != seen;
    };
    const auto stop_spinning = [this, &has_new_work] {
      return has_new_work() || computing_.load(std::memory_order_relaxed) +
                                       waiting_.load(std::memory_order_relaxed) >=
                                   cores_;
    };
    if (spin_until(stop_spinning) && has_new_work()) continue;
    epoch_.wait(seen, std::memory_order_seq_cst);
  }
}

bool ThreadPool::is_computing(const ThreadPool& pool) { return computing_in == &pool; }

// Stops when all cores have been taken for longer than it takes to announce threads and to wake
// them: until then, one of the threads may be this one.
bool ThreadPool::help_while_waiting(Condition done, bool releases_core) {
  constexpr int kPatience = 256;
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  if (releases_core) {
    computing_in = nullptr;
    release_core();
  }
  ThreadPool* const outer = std::exchange(computing_in, nullptr);
  bool reached = done();
  for (bool worked = true; worked && !reached;) {
    const std::uint32_t seen = epoch_.load(std::memory_order_seq_cst);
    worked = work_as_helper(&done);
    if (worked) continue;
    int full = 0;
    const auto stop_spinning = [&] {
      reached = done();
      full = computing_.load(std::memory_order_relaxed) < cores_ ? 0 : full + 1;
      worked = epoch_.load(std::memory_order_relaxed) != seen;
      return reached || worked || full == kPatience;
    };
    spin_until(stop_spinning);
  }
  computing_in = outer;
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
  if (!reached && has_work()) publish();  // no helper was woken for this thread's core
  return reached;
}

void ThreadPool::run_kernel(const CpuKernel& kernel, const void* const* inputs,
                            void* const* outputs, std::byte* workspace) {
  const Computing computing(*this);
  const int phases = kernel.phases();
  for (int phase = 0; phase < phases; ++phase) {
    const int slices = kernel.slices(phase);
    if (slices == 1)
      kernel.run(phase, 0, inputs, outputs, workspace);
    else
      parallel(slices, [&](int slice) { kernel.run(phase, slice, inputs, outputs, workspace); });
  }
}

ThreadPool::Announcement::Announcement(ThreadPool& pool, int threads)
    : pool_(pool), left_(threads) {
  pool_.computing_.fetch_add(threads, std::memory_order_seq_cst);
}

ThreadPool::Announcement::~Announcement() {
  for (int left = left_.load(); left > 0; --left) pool_.release_core();
}

ThreadPool::Computing::Computing(Announcement& announced) : Computing(announced.pool_) {
  // The core was taken by the announcement, and again just now.
  if (announced.left_.fetch_sub(1) > 0) announced.pool_.release_core();
}

ThreadPool::Computing::Computing(ThreadPool& pool)
    : pool_(pool), outer_pool_(computing_in), counted_(computing_in != &pool) {
  if (!counted_) return;
  pool_.take_core();
  computing_in = &pool;
}

ThreadPool::Computing::~Computing() {
  if (!counted_) return;
  computing_in = outer_pool_;
  pool_.release_core();
}

ThreadPool::Blocked::Blocked(ThreadPool& pool) : pool_(pool), released_(is_computing(pool)) {
  if (!released_) return;
  computing_in = nullptr;
  pool_.release_core();
}

ThreadPool::Blocked::~Blocked() {
  if (!released_) return;
  pool_.take_core();
  computing_in = &pool_;
}

}  // namespace towerflow
