#pragma once

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/device/flushed_denormals.h"
#include "core/graph/error.h"

namespace towerflow {

/// Blocks all signals of this thread for the object's lifetime, except those raised by its own
/// instructions and those of profilers. Threads that it starts meanwhile inherit this for good.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    sigfillset(&signals);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
      sigdelset(&signals, own);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// Starts a thread of the library. Signals are left to the program's own threads: on this one a
/// handler could interrupt generated code, which may keep data below the stack pointer where the
/// handler would overwrite it. It takes denormal numbers for zero. Throws ResourceExhaustedError if
/// no more threads can be started.
template <typename Body>
std::thread start_thread(Body&& body) {
  const SignalsBlocked blocked;
  try {
    return std::thread([body = std::forward<Body>(body)]() mutable {
      const FlushedDenormals flushed;
      body();
    });
  } catch (const std::system_error& error) {
    throw errors::ResourceExhaustedError(
        std::string("cannot start a thread: ") + error.what(),
        {.hint = "raise the limit of threads or of memory (ulimit -u, ulimit -v)"});
  }
}

}  // namespace towerflow
