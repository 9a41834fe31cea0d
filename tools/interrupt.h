#pragma once

#include <csignal>
#include <thread>

namespace towerflow::tools {

/// While it lives, the first Ctrl-C or request to terminate is remembered and no more; the second
/// ends the process as it always does. One at a time, made before any other thread.
///
/// A thread of its own waits for the signals, all others block them: oneDNN's generated code may
/// use the stack pointer for something else, and a handler called there would write over memory.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();

 private:
  void wait() const;

  sigset_t signals_{}, before_{};
  std::thread waiter_;
};

}  // namespace towerflow::tools
