#include "tools/interrupt.h"

#include <pthread.h>

#include <atomic>
#include <initializer_list>

namespace towerflow::tools {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<bool> over{false};

}  // namespace

Interrupt::Interrupt() {
  interrupted = over = false;
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);  // threads made from now on inherit it
  waiter_ = std::thread([this] { wait(); });
}

Interrupt::~Interrupt() {
  over = true;
  pthread_kill(waiter_.native_handle(), SIGTERM);
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::wait() const {
  while (true) {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (over) return;
    if (!interrupted.exchange(true)) continue;
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    std::raise(signal);
  }
}

bool Interrupt::requested() { return interrupted; }

}  // namespace towerflow::tools
