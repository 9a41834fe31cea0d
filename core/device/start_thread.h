#pragma once

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/graph/error.h"

namespace towerflow {

/// While it lives, this thread takes no signals but those that its own instructions raise, and
/// those of profilers; threads that it starts meanwhile never do.
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

/// A thread of the library's own. A program's signals are for the program's threads: here a handler
/// would come upon generated code, which keeps to no rule about what lies below the stack pointer.
/// Throws ResourceExhaustedError where there can be no more threads.
template <typename Body>
std::thread start_thread(Body&& body) {
  const SignalsBlocked blocked;
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    throw errors::ResourceExhaustedError(
        std::string("cannot start a thread: ") + error.what(),
        {.hint = "raise the limit of threads or of memory (ulimit -u, ulimit -v)"});
  }
}

}  // namespace towerflow
