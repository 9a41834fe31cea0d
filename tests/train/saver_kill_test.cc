// Processes are killed before each change that a save makes to the folder, or save to the same
// paths at once. Listed checkpoints must be complete; the next save deletes unlisted files.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <random>

#include "core/graph/constant.h"
#include "ops/variables/assign.h"
#include "tests/train/saver_support.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// If n > 0, the process kills itself right before the nth call of the functions below.
std::atomic<int> calls_until_kill{0};
std::atomic<unsigned> max_delay_us{0};  ///< upper bound of the delay of a rename, in microseconds

void kill_if_due() {
  if (calls_until_kill > 0 && --calls_until_kill == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace

// Replace the C library's functions in the whole test program.
extern "C" {
int rename(const char* from, const char* to) noexcept {
  kill_if_due();
  if (max_delay_us > 0) ::usleep(static_cast<useconds_t>(std::random_device()() % max_delay_us));
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  kill_if_due();
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}
int unlink(const char* path) noexcept { return ::unlinkat(AT_FDCWD, path, 0); }
int fsync(int descriptor) {
  kill_if_due();
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
}

namespace {

namespace fs = std::filesystem;

constexpr int kKept = 1;

/// Saves each step's number with a Saver that first recovers the checkpoints the folder lists.
void save_steps(const fs::path& folder, int first, int last) {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar<std::int32_t>(0));
  train::Saver saver({w}, {.max_to_keep = kKept});
  if (const auto state = train::get_checkpoint_state(folder.string()))
    saver.recover_last_checkpoints(state->all_model_checkpoint_paths);
  Session session;
  initialize(session);
  for (int step = first; step <= last; ++step) {
    session.run(assign(w, step));
    saver.save(session, (folder / "m").string(), {.global_step = step});
  }
}

/// Starts a child process that does `work` and exits without the test program's cleanup.
pid_t start(const std::function<void()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child > 0) return child;
  try {
    work();
    ::_exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::_exit(1);
}

int status_of(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("a process is killed at each point of a save: the next leaves nothing unlisted") {
  for (int calls = 1;; ++calls) {
    CAPTURE(calls);
    const ScratchFolder folder;
    const int status = status_of(start([&] {
      calls_until_kill = calls;
      save_steps(folder.path(), 1, 2);
    }));
    if (const auto newest = train::latest_checkpoint(folder.path())) {
      const Array value = TensorBundleReader(*newest).read("w");
      CHECK(*newest == (folder / fmt::format("m-{}", value.item<std::int32_t>())).string());
    } else {
      CHECK_FALSE(fs::exists(folder / "checkpoint"));
    }
    save_steps(folder.path(), 11, 12);
    CHECK(listing(folder.path()) == "checkpoint m-12.data-00000-of-00001 m-12.index");
    if (WIFEXITED(status)) {
      CHECK(WEXITSTATUS(status) == 0);
      CHECK(calls > 2 * 6);
      return;
    }
    REQUIRE(WTERMSIG(status) == SIGKILL);
  }
}

TEST_CASE("processes save to the same paths at once: no checkpoint is of two of them") {
  constexpr int kSteps = 12;
  for (const int max_to_keep : {0, 2}) {
    const ScratchFolder folder;
    std::vector<pid_t> children;
    for (int number = 1; number <= 3; ++number) {
      children.push_back(start([&] {
        max_delay_us = 5000;
        Graph graph;
        const auto guard = graph.as_default();
        const auto size = static_cast<std::size_t>(10 * number);
        const Variable w = variable(
            "w", floats({10 * number}, std::vector<float>(size, static_cast<float>(number))));
        train::Saver saver({w}, {.max_to_keep = max_to_keep});
        Session session;
        initialize(session);
        while (!fs::exists(folder / "go")) ::usleep(100);
        for (int step = 1; step <= kSteps; ++step)
          saver.save(session, (folder / "m").string(), {.global_step = step});
      }));
    }
    ::usleep(100000);
    write_raw(folder / "go", "");
    for (const pid_t child : children) CHECK(status_of(child) == 0);
    const int first = max_to_keep == 0 ? 1 : kSteps - max_to_keep + 1;
    for (int step = first; step <= kSteps; ++step) {
      const Array value = TensorBundleReader(folder / fmt::format("m-{}", step)).read("w");
      CHECK(value.elements() == 10 * static_cast<int>(value.data<float>()[0]));
    }
    CHECK(folder.files() == 2 + 2 * static_cast<std::size_t>(kSteps - first + 1));
  }
}
