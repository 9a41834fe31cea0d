#pragma once

#include <cstddef>

namespace towerflow::cuda::host {

/// A function with a stack of its own, which can stop in the middle and go on later.
///
/// A fiber that is abandoned is not unwound: objects on its stack are not destroyed. Fibers run on
/// the thread that made them. Neither ThreadSanitizer nor AddressSanitizer is told about the
/// stacks: the code of the plug-in that runs on them is compiled without either.
class Fiber {
 public:
  using Function = void (*)(void* argument);

  Fiber(Function function, void* argument);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Runs the function until it suspends or returns; from the start if it had returned.
  void resume();
  /// Called within the fiber: returns from `resume`.
  void suspend();
  /// Forgets where the function stopped: the next `resume` starts anew.
  void abandon();

  /// Returns whether the address is on the fiber's stack.
  bool owns(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - stack_) < kStackBytes;
  }

 private:
  friend struct FiberEntry;
  static constexpr std::size_t kStackBytes = std::size_t{64} << 10;

  Function function_;
  void* argument_;
  std::byte* stack_;  // above a page that cannot be accessed
  void* inside_;      // where the function stopped
  void* outside_ = nullptr;
};

}  // namespace towerflow::cuda::host
