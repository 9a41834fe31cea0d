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

/// The project's own threads: cores - 1 helpers that take slices from whoever calls `parallel`.
///
/// The calling thread works too, so one caller alone uses all cores, and as many callers as cores
/// (one per tower) work each by itself without any exchange. A *core budget* counts the threads
/// that compute: a helper takes a slice only while fewer threads than cores compute. A call
/// allocates nothing. An idle helper spins for a short while, then sleeps.
class ThreadPool {
 public:
  /// `cores` is the number of threads that compute at once; 0 asks the system. If the system
  /// refuses threads the pool has fewer helpers, which changes speed only.
  explicit ThreadPool(int cores = 0);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  /// No call may be under way.
  ~ThreadPool();

  int cores() const { return cores_; }
  int helpers() const { return static_cast<int>(threads_.size()); }

  /// Calls `fn(slice)` once for each of 0 .. slices-1, on this thread and on idle helpers, and
  /// returns when all have ended. Any thread may call it, several at once, and from inside a slice.
  /// An exception of a slice is thrown here after all slices have ended; of several, the one of the
  /// lowest slice.
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

  /// Declares that this thread computes for the life of the object, between its calls of `parallel`
  /// as well, and so takes one core of the budget. Nests.
  class Computing {
   public:
    explicit Computing(ThreadPool& pool);
    Computing(const Computing&) = delete;
    Computing& operator=(const Computing&) = delete;
    ~Computing();

   private:
    ThreadPool& pool_;
    ThreadPool* outer_pool_;
    bool counted_;
  };

  /// Gives this thread's core away for the life of the object, because the thread waits for
  /// something. Harmless on a thread that does not compute.
  class Blocked {
   public:
    explicit Blocked(ThreadPool& pool);
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
    ~Blocked();

   private:
    ThreadPool& pool_;
    bool released_;
  };

  /// Threads that compute at this moment; for tests and reports.
  int computing() const { return computing_.load(std::memory_order_relaxed); }

 private:
  using Call = void (*)(void* context, int slice);

  // One call of `parallel`. `claim` holds the next slice in its upper and the number of slices in
  // its lower half; whoever moves it by compare-and-swap owns that slice, and only an owner reads
  // `call` and `context`. A slot without unclaimed slices (upper == lower) is never touched.
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

  void run(int slices, Call call, void* context);
  void run_inline(int slices, Call call, void* context);
  Slot* acquire_slot();
  bool run_one_slice(Slot& slot);
  bool has_work() const;
  bool help();
  void helper_loop();
  void publish();
  bool try_take_core();
  void take_core();
  void release_core();

  int cores_;
  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<int> computing_{0};
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace towerflow
