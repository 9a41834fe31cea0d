#include <sys/stat.h>

#include <fstream>
#include <utility>

#include "core/graph/log.h"
#include "tests/train/checkpoint/support.h"
#include "train/checkpoint/checkpoint_state.h"

using namespace towerflow;
using namespace towerflow::testing;
using namespace towerflow::train;

namespace {

/// Collects the log lines written during its lifetime.
class LogCatcher {
 public:
  LogCatcher()
      : before_(set_log_sink([this](LogLevel, std::string_view line) { text_ += line; })) {}
  ~LogCatcher() { set_log_sink(before_); }
  std::string take() { return std::exchange(text_, ""); }

 private:
  std::string text_;
  LogSink before_;
};

/// Changes the working directory for its lifetime.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::filesystem::path& path)
      : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~WorkingFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

const std::vector<std::string> kPaths = {"run/model.ckpt-1", "/other/model.ckpt-2",
                                         "model \"3\"\\\n\xc3\xa9"};

}  // namespace

TEST_CASE("checkpoint state: relative and absolute folders give TensorFlow's text") {
  const std::string relative = read_raw(kGolden + "relative_folder.txt");
  const std::string absolute = read_raw(kGolden + "absolute_folder.txt");
  REQUIRE(relative.size() > 100);
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "run");
  {
    const WorkingFolder here(folder.path());
    update_checkpoint_state("run", kPaths.back(), kPaths);
    CHECK(read_raw("run/checkpoint") == relative);
    update_checkpoint_state("run/", kPaths.back(), {kPaths[0], kPaths[1]});
    CHECK(read_raw("run/checkpoint") == relative);
    update_checkpoint_state("", "model.ckpt-1");
    CHECK(get_checkpoint_state("")->model_checkpoint_path == "model.ckpt-1");
  }
  update_checkpoint_state(folder / "run", kPaths.back(), kPaths);
  CHECK(read_raw(folder / "run" / "checkpoint") == absolute);
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "run"), {}) == 1);
}

TEST_CASE("checkpoint state: what is written is read, relative paths joined to the folder") {
  const ScratchFolder folder;
  CHECK_FALSE(get_checkpoint_state(folder.path()).has_value());
  update_checkpoint_state(
      folder.path(), "m-2", {"/elsewhere/m-1", "m-2"},
      {.all_model_checkpoint_timestamps = {1.5, 1700000000.25}, .last_preserved_timestamp = 3.0});
  const CheckpointState wanted = {.model_checkpoint_path = folder / "m-2",
                                  .all_model_checkpoint_paths = {"/elsewhere/m-1", folder / "m-2"},
                                  .all_model_checkpoint_timestamps = {1.5, 1700000000.25},
                                  .last_preserved_timestamp = 3.0};
  CHECK(get_checkpoint_state(folder.path()) == wanted);

  update_checkpoint_state(folder.path(), folder / "m-3", {},
                          {.latest_filename = "newest", .save_relative_paths = true});
  CHECK(read_raw(folder / "newest") ==
        "model_checkpoint_path: \"m-3\"\nall_model_checkpoint_paths: \"m-3\"\n");
  CHECK(get_checkpoint_state(folder.path(), "newest")->model_checkpoint_path == folder / "m-3");
  CHECK(get_checkpoint_state(folder.path()) == wanted);
}

TEST_CASE("latest_checkpoint: names the newest one that is there") {
  const ScratchFolder folder;
  LogCatcher log;
  CHECK_FALSE(latest_checkpoint(folder.path()).has_value());
  CHECK(log.take() == "");
  update_checkpoint_state(folder.path(), "m-1");
  CHECK_FALSE(latest_checkpoint(folder.path()).has_value());
  CHECK(log.take() == "no files found for the checkpoint " + (folder / "m-1").string());
  write_bundle(folder / "m-1", {{"w", Array::scalar(1.0F)}});
  CHECK(latest_checkpoint(folder.path()) == (folder / "m-1").string());
  CHECK(TensorBundleReader(*latest_checkpoint(folder.path())).contains("w"));
  CHECK(log.take() == "");
}

TEST_CASE("checkpoint state: what is refused, what is ignored with a warning") {
  const ScratchFolder folder;
  const std::string file = (folder / "checkpoint").string();
  CHECK(thrown([&] { update_checkpoint_state(folder.path(), file); }) ==
        "RuntimeError: the save path '" + file + "' is the path of the checkpoint state file");
  CHECK(thrown([&] {
          update_checkpoint_state(folder.path(), "m", {},
                                  {.all_model_checkpoint_timestamps = {1.0, 2.0}});
        }) == "ValueError: 1 checkpoint paths but 2 timestamps");
  CHECK(thrown([&] {
          update_checkpoint_state(folder / "absent", "m");
        }).starts_with("NotFoundError: cannot create "));
  CHECK(folder.files() == 0);

  write_raw(file, "");
  CHECK(thrown([&] { get_checkpoint_state(folder.path()); }) ==
        "ValueError: " + file + " names no checkpoint");
  LogCatcher log;
  for (const std::string bad :
       {"model_checkpoint_path", "model_checkpoint_path: 3", "unknown: 1",
        "model_checkpoint_path: \"", "model_checkpoint_path: \"a\" model_checkpoint_path: \"b\"",
        "{{{{{{", "\xff\xfe"}) {
    CAPTURE(bad);
    write_raw(file, bad);
    CHECK_FALSE(get_checkpoint_state(folder.path()).has_value());
    CHECK(log.take().starts_with(file + " is ignored: line 1, column "));
  }
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  CHECK_FALSE(get_checkpoint_state(folder.path()).has_value());
  CHECK(log.take() == file + " is ignored: cannot read " + file + ": Is a directory");
  std::filesystem::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);  // opening it would wait for a writer
  CHECK_FALSE(get_checkpoint_state(folder.path()).has_value());
  CHECK(log.take() ==
        file + " is ignored: cannot read " + file + ": it is a pipe or a device, not a file");
}

TEST_CASE("checkpoint state: a real one") {
  const auto folder = real_data("checkpoints/tfx-taxi");
  if (!folder) {
    CHECK(true);  // real_data() reports it on stderr
    return;
  }
  CHECK(latest_checkpoint(*folder) == (*folder / "model.ckpt-1000").string());
  CHECK(get_checkpoint_state(*folder)->all_model_checkpoint_paths.size() == 3);
}
