#pragma once

#include <csignal>
#include <thread>

#include "train/session_run_hook.h"

namespace towerflow::train::types {

/// While it lives, the first Ctrl-C, request to terminate or closing of the terminal is remembered
/// and no more; a second Ctrl-C or request ends the process as it always does. A terminal tells of
/// its end more than once. What whoever started the process has it ignore stays ignored, as nohup
/// wants it. One at a time, made before any other thread.
///
/// A thread of its own waits for the signals, all others block them: oneDNN's generated code may
/// use the stack pointer for something else, and a handler called there would write over memory.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The number of the first signal, 0 before there is one.
  static int received();

 private:
  void wait() const;

  sigset_t signals_{}, before_{};
  std::thread waiter_;
};

/// Ends a training in order once an Interrupt has received a signal: what was trained is saved.
class StopAtSignalHook : public SessionRunHook {
 public:
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
};

}  // namespace towerflow::train::types
