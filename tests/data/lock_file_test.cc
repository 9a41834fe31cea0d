#include "data/lock_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/data/support.h"

namespace towerflow {
namespace {

using testing::read_raw;
using testing::ScratchFolder;
using testing::thrown;
using testing::write_raw;
using State = LockFile::State;
using Others = LockFile::Others;

TEST_CASE("LockFile: one holds it, others read whose it is, and it goes with its holder") {
  const ScratchFolder folder;
  const auto path = folder / "lock";
  {
    const LockFile first = LockFile::make(path, "first", Others::refuse);
    CHECK(first.state() == State::held);
    CHECK(read_raw(path) == "first");
    const LockFile second = LockFile::make(path, "second", Others::refuse);
    CHECK(second.state() == State::taken);
    CHECK(second.content() == "first");
    CHECK(LockFile::adopt(path).state() == State::taken);
  }
  CHECK(folder.files() == 0);
  CHECK(LockFile::adopt(path).state() == State::taken);
  {
    LockFile kept = LockFile::make(path, "kept", Others::refuse);
    kept.set_keep_file(true);
  }
  CHECK(read_raw(path) == "kept");
  CHECK(LockFile::adopt(path).content() == "kept");
  CHECK(folder.files() == 0);
}

TEST_CASE("LockFile: what a killed process left is no obstacle, and is not written to") {
  const ScratchFolder folder;
  const auto path = folder / "lock";
  write_raw(folder / "other", "another's");
  std::filesystem::create_hard_link(folder / "other", path);
  CHECK(LockFile::make(path, "new", Others::refuse).state() == State::held);
  CHECK(read_raw(folder / "other") == "another's");

  const pid_t child = ::fork();
  if (child == 0) {
    const LockFile held = LockFile::make(path, "dead", Others::refuse);
    ::_exit(held.state() == State::held ? 0 : 1);  // runs no destructor, like a kill
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(read_raw(path) == "dead");
  CHECK(LockFile::make(path, "new", Others::refuse).state() == State::held);
}

TEST_CASE("LockFile: what is no file, and where none can be made") {
  const ScratchFolder folder;
  const auto path = folder / "lock";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(thrown([&] { LockFile::make(path, "", Others::refuse); }) ==
        "FailedPreconditionError: cannot lock " + path.string() + ": it is not a file");
  CHECK(LockFile::adopt(path).state() == State::taken);
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder / "other", path);
  CHECK(thrown([&] { LockFile::make(path, "", Others::refuse); }) ==
        "UnknownError: cannot open " + path.string() + ": Too many levels of symbolic links");
  CHECK(LockFile::adopt(path).state() == State::taken);
  CHECK(folder.files() == 1);
  CHECK(thrown([&] { LockFile::make(folder / "no/lock", "", Others::wait); }) ==
        "NotFoundError: cannot create " + (folder / "no/lock").string() +
            ": No such file or directory");
}

TEST_CASE("LockFile: of many at once one has it at a time, whoever tidies up meanwhile") {
  const ScratchFolder folder;
  const auto path = folder / "lock";
  std::atomic<int> inside{0}, most{0}, refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        LockFile file = LockFile::make(path, "x", i == 0 ? Others::refuse : Others::wait);
        if (file.state() == State::taken) {
          ++refused;
          continue;
        }
        most = std::max<int>(most, ++inside);
        file.set_keep_file(round % 2 == 0);  // as a killed process leaves it
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(refused < 200);
}

}  // namespace
}  // namespace towerflow
