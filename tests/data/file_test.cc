#include "data/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "data/append_file.h"
#include "data/existing_file.h"
#include "data/lock_file.h"
#include "data/tfrecord.h"
#include "tests/data/size_limit.h"
#include "tests/data/support.h"

namespace towerflow {
namespace {

using testing::read_raw;
using testing::ScratchFolder;
using testing::SizeLimit;
using testing::thrown;
using testing::write_raw;

TEST_CASE("a pipe is refused before it is opened, which would wait for a writer") {
  ScratchFolder folder;
  const auto path = folder / "train.tfrecords";
  CHECK_NOTHROW(check_regular_file(path));  // does not check that the file exists
  write_raw(path, "x");
  CHECK_NOTHROW(check_regular_file(path));
  CHECK(data::existing_file(folder.path(), "train.tfrecords", "") == path);
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const std::string refused = "FailedPreconditionError: cannot read " + path.string() +
                              ": it is a pipe or a device, not a file";
  CHECK(thrown([&] { check_regular_file(path); }) == refused);
  CHECK(thrown([&] { data::existing_file(folder.path(), "train.tfrecords", ""); }) == refused);
  CHECK(thrown([&] { check_regular_file(folder.path()); }).find("Is a directory") !=
        std::string::npos);
}

TEST_CASE("folders are made and files deleted, or an error names them") {
  ScratchFolder folder;
  const auto path = folder / "a" / "b";
  make_folder(path);
  CHECK(std::filesystem::is_directory(path));
  CHECK_NOTHROW(make_folder(path));
  write_raw(path / "file", "x");
  CHECK(thrown([&] {
          make_folder(path / "file");
        }).starts_with("FailedPreconditionError: cannot create folder " + path.string()));
  delete_file(path / "file");
  CHECK_FALSE(std::filesystem::exists(path / "file"));
  CHECK_NOTHROW(delete_file(path / "file"));
  CHECK(thrown([&] { delete_file(path); }) ==
        "FailedPreconditionError: cannot remove " + path.string() + ": Is a directory");
}

TEST_CASE("AtomicFile: nothing at the path before commit, everything after") {
  ScratchFolder folder;
  const auto path = folder / "out.bin";
  std::string expected;
  {
    AtomicFile file(path);
    for (int i = 0; i < 2000; ++i) {
      const std::string piece(static_cast<std::size_t>(i % 700), static_cast<char>('a' + i % 26));
      file.append(piece);
      expected += piece;
    }
    const std::string large(600'000, 'x');  // larger than the buffer: written directly, in order
    file.append(large);
    file.append("tail");
    expected += large + "tail";
    CHECK(file.size() == expected.size());
    CHECK_FALSE(std::filesystem::exists(path));
    file.commit();
    CHECK(std::filesystem::exists(path));
  }
  CHECK(read_raw(path) == expected);
  CHECK(folder.files() == 1);
  const auto mode = std::filesystem::status(path).permissions();
  CHECK((mode & std::filesystem::perms::owner_write) != std::filesystem::perms::none);
}

TEST_CASE("AtomicFile: without commit the old file stays and no temporary is left") {
  ScratchFolder folder;
  const auto path = folder / "out.bin";
  write_raw(path, "old");
  {
    AtomicFile file(path);
    file.append("new");
    CHECK(folder.files() == 2);
  }
  CHECK(read_raw(path) == "old");
  CHECK(folder.files() == 1);
  {
    AtomicFile file(path);
    file.append("new");
    file.commit();
    CHECK(thrown([&] { file.commit(); }) ==
          "FailedPreconditionError: " + path.string() + " is already committed");
    CHECK(thrown([&] { file.append("more"); }) ==
          "FailedPreconditionError: " + path.string() + " is already committed");
  }
  CHECK(read_raw(path) == "new");
}

TEST_CASE("AtomicFile: what killed processes left goes, what is written or another's stays") {
  const ScratchFolder folder;
  write_raw(folder / ".model-1.data.77-0.tmp", "half");
  write_raw(folder / ".other.77-10.tmp", "half");
  for (const char* name : {".model-1.kept", ".a.tmp", ".a.77.tmp", ".a.-1.tmp", "a.77-0.tmp"})
    write_raw(folder / name, "another's");
  std::filesystem::create_directory(folder / ".folder.77-0.tmp");
  std::filesystem::create_symlink(folder / ".a.tmp", folder / ".link.77-0.tmp");
  AtomicFile file(folder / "model-2");
  CHECK_FALSE(std::filesystem::exists(folder / ".model-1.data.77-0.tmp"));
  CHECK_FALSE(std::filesystem::exists(folder / ".other.77-10.tmp"));
  remove_abandoned_files(folder.path());
  file.append("new");
  file.commit();
  CHECK(read_raw(folder / "model-2") == "new");
  CHECK(folder.files() == 1 + 5 + 2);
  remove_abandoned_files(folder / "no folder");
}

TEST_CASE("a path with a zero byte: refused before anything is opened") {
  using namespace std::string_literals;
  const ScratchFolder folder;
  write_raw(folder / "there", "x");
  const std::string path = (folder / "there").string() + "\0x"s;
  const std::string refused = "ValueError: a path must not contain a zero byte: \"" +
                              (folder / "there").string() + "\\0x\"";
  CHECK(thrown([&] { InputFile file(path); }) == refused);
  CHECK(thrown([&] { AtomicFile file(path); }) == refused);
  CHECK(thrown([&] { AppendFile file(path); }) == refused);
  CHECK(thrown([&] { read_file(path); }) == refused);
  CHECK(thrown([&] { check_regular_file(path); }) == refused);
  CHECK(thrown([&] { make_folder(path); }) == refused);
  CHECK(thrown([&] { delete_file(path); }) == refused);
  CHECK(thrown([&] { data::existing_file(path, "a", ""); }).starts_with("ValueError: a path"));
  CHECK(thrown([&] { LockFile::adopt(path); }) == refused);
  CHECK(thrown([&] { data::TFRecordReader reader(path); }) == refused);
  CHECK(thrown([&] { data::TFRecordWriter writer(path); }) == refused);
  CHECK(folder.files() == 1);
}

TEST_CASE("AtomicFile: files that are tidied away while they are made are made again") {
  const ScratchFolder folder;
  std::atomic<bool> done{false};
  std::thread tidy([&] {
    while (!done) remove_abandoned_files(folder.path());
  });
  for (int i = 0; i < 300; ++i) {
    AtomicFile file(folder / "name");
    file.append(std::to_string(i));
    file.commit();
    REQUIRE(read_raw(folder / "name") == std::to_string(i));
  }
  done = true;
  tidy.join();
}

TEST_CASE("AtomicFile: names") {
  ScratchFolder folder;
  const auto absent = folder / "no/such/out.bin";
  CHECK(thrown([&] { AtomicFile file(absent); }) ==
        "NotFoundError: cannot create " + absent.string() + ": No such file or directory");
  try {
    AtomicFile file(absent);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.detail().hint == "create the folder " + (folder / "no/such").string() + " first");
  }
  CHECK(thrown([&] { AtomicFile file(""); }) ==
        "InvalidArgumentError: cannot write to \"\": it names no file");
  CHECK(thrown([&] { AtomicFile file(folder.path() / ""); }) ==
        "InvalidArgumentError: cannot write to \"" + (folder.path() / "").string() +
            "\": it names no file");
  std::filesystem::create_directory(folder / "taken");
  CHECK(thrown([&] { AtomicFile(folder / "taken").commit(); }) ==
        "FailedPreconditionError: cannot rename to " + (folder / "taken").string() +
            ": Is a directory");
  CHECK(folder.files() == 1);
  write_raw(folder / "plain", "");
  CHECK(thrown([&] { AtomicFile file(folder / "plain/out"); }) ==
        "FailedPreconditionError: cannot create " + (folder / "plain/out").string() +
            ": Not a directory");
  const std::string longest(255, 'n');  // the maximal length; the temporary's name must fit too
  AtomicFile(folder / longest).commit();
  CHECK(std::filesystem::exists(folder / longest));
}

TEST_CASE("AtomicFile: a relative name without a folder") {
  ScratchFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  AtomicFile file("bare");
  file.append("1");
  file.commit();
  std::filesystem::current_path(before);
  CHECK(read_raw(folder / "bare") == "1");
}

TEST_CASE("AtomicFile: a write that the system refuses") {
  ScratchFolder folder;
  const auto path = folder / "out.bin";
  write_raw(path, "old");
  std::string first, second;
  {
    const SizeLimit limit(300'000);
    AtomicFile file(path);
    first = thrown([&] { file.append(std::string(400'000, 'x')); });
    second = thrown([&] { file.commit(); });
  }
  CHECK(first == "ResourceExhaustedError: cannot write to " + path.string() + ": File too large");
  CHECK(second ==
        "FailedPreconditionError: " + path.string() + " cannot be written after an earlier error");
  CHECK(read_raw(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("AtomicFile: of two files that are committed together none is there when one fails") {
  ScratchFolder folder;
  const auto data = folder / "data", index = folder / "index";
  write_raw(data, "old");
  write_raw(index, "old");
  const auto write = [&](std::size_t index_bytes) {
    AtomicFile first(data), second(index);
    first.append("new");
    second.append(std::string(index_bytes, 'x'));  // still in the buffer
    AtomicFile::commit_together(first, second);
  };
  {
    const SizeLimit limit(1000);
    CHECK(thrown([&] { write(1001); }) ==
          "ResourceExhaustedError: cannot write to " + index.string() + ": File too large");
  }
  CHECK(read_raw(data) == "old");
  CHECK(read_raw(index) == "old");
  write(1001);
  CHECK(read_raw(data) == "new");
  CHECK(read_raw(index) == std::string(1001, 'x'));
  CHECK(folder.files() == 2);
}

TEST_CASE("file errors: code by errno, and the text") {
  using errors::Code;
  CHECK(code_of_errno(ENOSPC) == Code::resource_exhausted);
  CHECK(code_of_errno(EDQUOT) == Code::resource_exhausted);
  CHECK(code_of_errno(ENOENT) == Code::not_found);
  CHECK(code_of_errno(EACCES) == Code::permission_denied);
  CHECK(code_of_errno(EROFS) == Code::permission_denied);
  CHECK(code_of_errno(EISDIR) == Code::failed_precondition);
  CHECK(code_of_errno(EEXIST) == Code::already_exists);
  CHECK(code_of_errno(EIO) == Code::unknown);
  CHECK(code_of_errno(EFBIG) == Code::resource_exhausted);
  CHECK(thrown([] { raise_file_error(ENOSPC, "write to", "a/b"); }) ==
        "ResourceExhaustedError: cannot write to a/b: No space left on device");
}

TEST_CASE("AtomicFile: several threads write the same name; one whole version wins") {
  ScratchFolder folder;
  const auto path = folder / "out.bin";
  std::vector<std::thread> threads;
  for (char name = 'a'; name < 'e'; ++name)
    threads.emplace_back([&, name] {
      for (int i = 0; i < 5; ++i) {
        AtomicFile file(path);
        file.append(std::string(5'000, name));
        file.commit();
      }
    });
  for (std::thread& thread : threads) thread.join();
  const std::string text = read_raw(path);
  REQUIRE(text.size() == 5'000);
  CHECK(text == std::string(5'000, text[0]));
  CHECK(folder.files() == 1);
}

TEST_CASE("InputFile: sequential and positional reads") {
  ScratchFolder folder;
  const auto path = folder / "in.bin";
  write_raw(path, "0123456789");
  InputFile file(path);
  CHECK(file.size() == 10);
  std::string four(4, '?');
  const auto out = std::as_writable_bytes(std::span(four));
  CHECK(file.read(out) == 4);
  CHECK(four == "0123");
  CHECK(file.position() == 4);
  CHECK(file.read_at(8, out) == 2);
  CHECK(file.read_at(1, out) == 4);
  CHECK(four == "1234");
  CHECK(file.position() == 4);
  CHECK(file.read_at(10, out) == 0);
  CHECK(file.read_at(~std::uint64_t{0}, out) == 0);
  CHECK(thrown([&] { file.read_exactly_at(8, out); }) ==
        "DataLossError: " + path.string() + " ends early: expected 4 bytes at byte 8, found 2");
  CHECK(file.read(out) == 4);
  CHECK(file.read(out) == 2);
  CHECK(file.read(out) == 0);
  CHECK(file.position() == 10);
}

TEST_CASE("InputFile: what cannot be read") {
  ScratchFolder folder;
  const auto absent = folder / "absent";
  CHECK(thrown([&] { InputFile file(absent); }) ==
        "NotFoundError: cannot open " + absent.string() + ": No such file or directory");
  CHECK(thrown([&] { InputFile file(folder.path()); }) ==
        "FailedPreconditionError: cannot read " + folder.path().string() + ": Is a directory");
  if (::geteuid() == 0) return;  // root can read everything
  write_raw(folder / "secret", "x");
  ::chmod((folder / "secret").c_str(), 0);
  CHECK(thrown([&] { InputFile file(folder / "secret"); }) ==
        "PermissionDeniedError: cannot open " + (folder / "secret").string() +
            ": Permission denied");
}

TEST_CASE("read_file: whole, empty, over the limit, without a size") {
  ScratchFolder folder;
  write_raw(folder / "a", "12345");
  write_raw(folder / "empty", "");
  CHECK(read_file(folder / "a") == "12345");
  CHECK(read_file(folder / "a", 5) == "12345");
  CHECK(read_file(folder / "empty").empty());
  CHECK(thrown([&] { read_file(folder / "a", 4); }) ==
        "ResourceExhaustedError: " + (folder / "a").string() +
            " holds more than the 4 bytes allowed here");
  CHECK(thrown([&] { read_file("/dev/zero", 1000); }) ==
        "ResourceExhaustedError: /dev/zero holds more than the 1000 bytes allowed here");
  CHECK_FALSE(InputFile("/dev/zero").size().has_value());
}

}  // namespace
}  // namespace towerflow
