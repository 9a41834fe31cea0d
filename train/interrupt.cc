#include "train/interrupt.h"

#include <pthread.h>

#include <atomic>
#include <initializer_list>
#include <utility>

namespace towerflow::train {
namespace {

std::atomic<int> first_signal{0};
std::atomic<bool> shutting_down{false};

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

namespace types {

Interrupt::Interrupt(InterruptOptions options) : options_(std::move(options)) {
  first_signal = 0;
  shutting_down = false;
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  // An ignored signal must not be blocked: sigwait would return it.
  for (const int signal : {SIGINT, SIGHUP}) {
    if (!is_ignored(signal)) sigaddset(&signals_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);  // inherited by threads created from now on
  waiter_ = std::thread([this] { wait(); });
}

Interrupt::~Interrupt() {
  shutting_down = true;
  pthread_kill(waiter_.native_handle(), SIGTERM);
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::wait() const {
  while (true) {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (shutting_down) return;
    int none = 0;
    if (first_signal.compare_exchange_strong(none, signal)) {
      if (options_.first) options_.first(signal);
      continue;
    }
    if (signal == SIGHUP) continue;
    if (options_.last) options_.last();
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    std::raise(signal);
  }
}

int Interrupt::received() { return first_signal; }

void StopAtSignalHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (Interrupt::received() != 0) context.request_stop();
}

}  // namespace types
}  // namespace towerflow::train
