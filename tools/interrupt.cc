#include "tools/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace towerflow::tools {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void note(int) { interrupted = 1; }

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  interrupted = 0;
  handle(note);
}

Interrupt::~Interrupt() { handle(SIG_DFL); }

bool Interrupt::requested() { return interrupted != 0; }

}  // namespace towerflow::tools
