#include "core/device/start_thread.h"

#include <doctest/doctest.h>

#include <set>

namespace {

std::set<int> blocked_signals() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::set<int> blocked;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGSEGV, SIGPROF}) {
    if (sigismember(&mask, signal) == 1) blocked.insert(signal);
  }
  return blocked;
}

TEST_CASE("a library's thread blocks a program's signals, the thread that starts it does not") {
  const std::set<int> before = blocked_signals();
  std::set<int> inside;
  towerflow::start_thread([&] { inside = blocked_signals(); }).join();
  CHECK(inside == std::set<int>{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD});
  CHECK(blocked_signals() == before);
}

TEST_CASE(
    "a library's thread takes denormal numbers for zero, the thread that starts it does not") {
  const auto half = [](float x) {
    const volatile float operand = x, result = operand * 0.5f;
    return static_cast<float>(result);
  };
  float inside = -1;
  towerflow::start_thread([&] { inside = half(1.5e-38f); }).join();
  CHECK(inside == 0.0f);
  CHECK(half(1.5e-38f) == 7.5e-39f);
}

}  // namespace
