// A Saver deletes only files in the folder it saves to, whatever the state file there lists, and
// checkpoints it saved itself.
#include <optional>

#include "core/graph/log.h"
#include "tests/train/saver_support.h"
#include "train/checkpoint/files.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

namespace fs = std::filesystem;

/// Writes the files that a Saver deletes with a checkpoint.
void write_checkpoint(const fs::path& prefix) {
  for (const char* ending : {".index", ".data-00000-of-00001", ".meta"})
    write_raw(prefix.string() + ending, "of " + prefix.string());
}

/// Collects the warnings logged during its lifetime.
class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogLevel level, std::string_view text) {
      if (level == LogLevel::warning) texts.emplace_back(text);
    });
  }
  ~Warnings() { set_log_sink({}); }
  std::vector<std::string> texts;
};

}  // namespace

TEST_CASE("a state file names checkpoints outside its folder: they stay, and one warning says so") {
  const ScratchFolder scratch;
  const fs::path folder = scratch / "train", outside = scratch / "outside";
  for (const char* name : {"train", "outside", "train_evil", "train/inside"})
    fs::create_directory(scratch / name);
  fs::create_directory_symlink(outside, folder / "link");
  fs::create_symlink(outside / "b.index", folder / "linked.index");
  const std::vector<fs::path> others{outside / "a",       outside / "b",   scratch / "train_evil/a",
                                     folder / "inside/a", folder / "a[1]", folder / "x*"};
  for (const fs::path& other : others) write_checkpoint(other);
  write_checkpoint(folder / "old");
  write_checkpoint(folder / "older");
  const std::string all = "all_model_checkpoint_paths: \"";
  write_raw(folder / "checkpoint",
            "model_checkpoint_path: \"old\"\n" + all + (outside / "a").string() + "\"\n" + all +
                "../outside/b\"\n" + all + "link/a\"\n" + all + "inside/../../outside/a\"\n" + all +
                (scratch / "train_evil/a").string() + "\"\n" + all + "inside/a\"\n" + all +
                (outside / "a").string() + "\\000\"\n" + all + "?[1]\"\n" + all + "*\"\n" + all +
                "linked\"\n" + all + "inside/../older\"\n" + all + "\"\n" + all + "old\"\n");
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  train::Saver saver({w}, {.max_to_keep = 1});
  Session session;
  initialize(session);
  const auto state = train::get_checkpoint_state(folder.string());
  REQUIRE(state);
  saver.recover_last_checkpoints(state->all_model_checkpoint_paths);
  const Warnings warnings;
  for (int step = 1; step <= 16; ++step)
    saver.save(session, (folder / "m").string(), {.global_step = step});
  for (const fs::path& other : others) {
    CAPTURE(other.string());
    for (const char* ending : {".index", ".data-00000-of-00001", ".meta"})
      CHECK(read_raw(other.string() + ending) == "of " + other.string());
  }
  // Those in the folder are deleted, however they were spelled; of a link, only the link itself.
  for (const char* name : {"old", "older", "linked"})
    CHECK(fs::symlink_status(folder / (name + std::string(".index"))).type() ==
          fs::file_type::not_found);
  REQUIRE(warnings.texts.size() == 1);
  CHECK(warnings.texts[0].find((outside / "a").string()) != std::string::npos);
}

TEST_CASE("what a Saver has saved itself is deleted wherever that was") {
  const ScratchFolder folder;
  fs::create_directory(folder / "a");
  fs::create_directory(folder / "b");
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  train::Saver saver({w}, {.max_to_keep = 1});
  Session session;
  initialize(session);
  saver.save(session, (folder / "a/m").string(), {.global_step = 1});
  saver.save(session, (folder / "b/m").string(), {.global_step = 2});
  CHECK(listing(folder / "a") == "checkpoint");
}

TEST_CASE("a path with a zero byte is refused, at the line that gives it") {
  using namespace std::string_literals;
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  train::Saver saver({w});
  Session session;
  initialize(session);
  const std::string path = (folder / "m").string() + "\0x"s;
  const std::string refused =
      "ValueError: a path must not contain a zero byte: \"" + (folder / "m").string() + "\\0x\"";
  CHECK(thrown([&] { saver.save(session, path); }) == refused);
  CHECK(thrown([&] { saver.restore(session, path); }) == refused);
  try {
    saver.save(session, path);
  } catch (const ValueError& error) {
    CHECK(error.detail().site.line == __LINE__ - 2);
    CHECK(std::string(error.detail().site.file).ends_with("saver_files_test.cc"));
  }
  CHECK(thrown([&] {
          saver.save(session, (folder / "m").string(), {.latest_filename = "c\0d"s});
        }).starts_with("ValueError: a path must not contain a zero byte"));
  CHECK(thrown([&] { train::remove_checkpoint(path); }) == refused);
  CHECK(thrown([&] { train::checkpoint_exists(path); }) == refused);
  CHECK(thrown([&] { train::latest_checkpoint(path); }).starts_with("ValueError: a path"));
  CHECK(thrown([&] { train::update_checkpoint_state(path, "m"); }).starts_with("ValueError: "));
  CHECK(folder.files() == 0);
}

TEST_CASE("errors of a Saver that the standard library made are at the line that saves") {
  const ScratchFolder folder;
  write_raw(folder / "plain", "no folder");
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  Session session;
  initialize(session);
  std::optional<train::Saver> saver;
  saver.emplace();
  const auto shared = std::make_shared<train::Saver>();
  const auto line_of = [](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      CHECK(std::string(error.detail().site.text()).find("saver_files_test.cc:") !=
            std::string::npos);
      return error.detail().site.line;
    }
    return 0U;
  };
  const std::string path = (folder / "plain/m").string(), taken = folder.path().string() + "/";
  CHECK(line_of([&] { saver->save(session, path); }) == __LINE__);
  CHECK(line_of([&] { shared->save(session, path); }) == __LINE__);
  CHECK(line_of([&] { shared->save(session, taken); }) == __LINE__);
  CHECK(line_of([&] { shared->restore(session, path); }) == __LINE__);
  write_raw(folder / "m.index", "damaged");
  CHECK(line_of([&] { saver->restore(session, (folder / "m").string()); }) == __LINE__);
}
