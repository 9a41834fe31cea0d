#pragma once

#include <csignal>
#include <functional>
#include <thread>

#include "train/session_run_hook.h"

namespace towerflow::train::types {

/// What a program does about signals, on a thread of its own.
struct InterruptOptions {
  std::function<void(int signal)> first{};  ///< after the first signal: what runs will end normally
  std::function<void()> last{};             ///< before the process ends by a second one
};

/// Records the first SIGINT, SIGTERM or SIGHUP during its lifetime instead of ending the process. A
/// second SIGINT or SIGTERM has its default effect; SIGHUP does not, since a terminal may send
/// several. SIGINT and SIGHUP stay ignored if the parent process ignored them, as with nohup. Only
/// one object may exist at a time, created before any other thread.
///
/// A separate thread waits for the signals and all others block them: oneDNN's generated code may
/// use the stack pointer for other purposes, so that a handler running there would overwrite
/// memory.
class Interrupt {
 public:
  explicit Interrupt(InterruptOptions options = {});
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Returns the number of the first signal, or 0 if there was none.
  static int received();

 private:
  void wait() const;

  InterruptOptions options_;
  sigset_t signals_{}, before_{};
  std::thread waiter_;
};

/// Ends a training normally, so that it is saved, once an Interrupt has received a signal.
class StopAtSignalHook : public SessionRunHook {
 public:
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
};

}  // namespace towerflow::train::types
