#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace towerflow {

class CpuKernel;

/// A pool of cores - 1 helper threads that take slices from the callers of `parallel`.
///
/// The calling thread works too: a single caller uses all cores, and with as many callers as cores
/// (one per tower) each works alone, without synchronization. A *core budget* counts the threads
/// that compute: a helper takes a slice only if fewer threads than cores are computing. A call
/// allocates nothing. An idle helper spins briefly, then sleeps. A thread that waits for something
/// can take slices as a helper does meanwhile: its core then needs no other thread, which would
/// have to be woken.
class ThreadPool {
 public:
  /// `cores` is the number of threads that compute at once; 0 asks the system. If not all threads
  /// can be started, the pool has fewer helpers, which affects only speed.
  explicit ThreadPool(int cores = 0);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  /// No call may be in progress.
  ~ThreadPool();

  int cores() const { return cores_; }
  int helpers() const { return static_cast<int>(threads_.size()); }

  /// Calls `fn(slice)` once for each of 0 .. slices-1, on this thread and on idle helpers, and
  /// returns when all have ended. Any thread may call it, concurrently and from inside a slice. If
  /// slices throw, the exception of the lowest one is rethrown here after all have ended.
  template <class F>
  void parallel(int slices, F&& fn) {
    if (slices <= 0) return;
    using Fn = std::remove_reference_t<F>;
    run(
        slices, [](void* context, int slice) { (*static_cast<Fn*>(context))(slice); },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

  /// Runs all phases of `kernel`.
  void run_kernel(const CpuKernel& kernel, const void* const* inputs, void* const* outputs,
                  std::byte* workspace);

  /// Takes cores for threads that are about to start computing, so that spinning helpers have given
  /// up their cores by the time these threads are woken.
  class Announcement {
   public:
    Announcement(ThreadPool& pool, int threads);
    ThreadPool& pool() const { return pool_; }
    Announcement(const Announcement&) = delete;
    Announcement& operator=(const Announcement&) = delete;
    /// Returns the cores of threads that have not begun.
    ~Announcement();

   private:
    friend class ThreadPool;
    ThreadPool& pool_;
    std::atomic<int> left_;
  };

  /// Declares that this thread computes during the object's lifetime, also between its calls of
  /// `parallel`, and so takes one core of the budget. Can be nested.
  class Computing {
   public:
    explicit Computing(ThreadPool& pool);
    /// The thread is one of those announced.
    explicit Computing(Announcement& announced);
    Computing(const Computing&) = delete;
    Computing& operator=(const Computing&) = delete;
    ~Computing();

   private:
    ThreadPool& pool_;
    ThreadPool* outer_pool_;
    bool counted_;
  };

  /// Returns this thread's core to the budget for the object's lifetime, while the thread waits for
  /// something. Has no effect on a thread that does not compute.
  class Blocked {
   public:
    explicit Blocked(ThreadPool& pool);
    /// Also helps others until `done()` or until there has been nothing to do for a while. A
    /// lock that the thread holds must be one that no slice of a kernel takes.
    template <class Done>
    Blocked(ThreadPool& pool, const Done& done) : pool_(pool), released_(is_computing(pool)) {
      if (released_) pool_.help_until(done, true);
    }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
    ~Blocked();

   private:
    ThreadPool& pool_;
    bool released_;
  };

  /// For a thread that waits and does not compute: takes slices of other threads' calls while cores
  /// are free, until `done()` or until there has been nothing to do for a while. Returns `done()`.
  template <class Done>
  bool help_until(const Done& done) {
    return help_until(done, false);
  }

  /// Returns the number of threads that are computing; for tests and reports.
  int computing() const { return computing_.load(std::memory_order_relaxed); }
  /// Returns the number of cores on which no thread but this one computes.
  int free_cores() const { return cores_ - computing() + (is_computing(*this) ? 1 : 0); }

 private:
  using Call = void (*)(void* context, int slice);

  // One call of `parallel`. The slices that nobody has claimed are those from the upper half of
  // `claim` up to its lower half. The thread that takes one off by compare-and-swap owns that
  // slice, and only owners read `call` and `context`. A slot without unclaimed slices is never
  // accessed.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> claim{0};
    std::atomic<int> pending{0};
    std::atomic<bool> used{false};
    Call call = nullptr;
    void* context = nullptr;
    std::mutex error_mutex;
    std::exception_ptr error;
    int error_slice = 0;
  };
  static constexpr int kSlots = 16;
  // Callers claim the first slice that is left, helpers the last one. Of two cores, each then
  // computes the same half of kernel after kernel and step after step, whose values are in its own
  // cache. A caller that is alone changes its side with each kernel: it begins with the values that
  // the kernel before has written last, which are still in a cache that cannot hold all of them.
  enum class Side : std::uint8_t { first, last };

  // Whether a thread that waits can go on; refers to what the thread waits for.
  struct Condition {
    bool (*function)(const void* context);
    const void* context;
    bool operator()() const { return function(context); }
  };
  template <class Done>
  bool help_until(const Done& done, bool releases_core) {
    return help_while_waiting(
        {[](const void* context) { return bool((*static_cast<const Done*>(context))()); }, &done},
        releases_core);
  }
  static bool is_computing(const ThreadPool& pool);
  static Side next_side();

  void run(int slices, Call call, void* context);
  void run_inline(int slices, Call call, void* context);
  Slot* acquire_slot();
  bool run_one_slice(Slot& slot, Side side);
  bool has_work() const;
  bool help(const Condition* stop);
  bool help_while_waiting(Condition done, bool releases_core);
  bool work_as_helper(const Condition* stop);
  void helper_loop();
  void publish();
  bool try_take_core();
  void take_core();
  void release_core();

  int cores_;
  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<int> computing_{0};
  std::atomic<int> waiting_{0};  // threads in help_until that take slices
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace towerflow
