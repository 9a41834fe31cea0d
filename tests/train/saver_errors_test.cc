// The errors of a Saver, and that they leave variables and files unchanged.
#include "ops/variables/assign.h"
#include "tests/train/saver_support.h"

using namespace towerflow;
using namespace towerflow::testing;

TEST_CASE("what cannot be saved") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(thrown([] { train::Saver saver; }) == "ValueError: No variables to save");
  const Variable a = variable("a", Array::scalar(1.0F)), b = variable("b", Array::scalar(1.0F));
  CHECK(thrown([&] {
          train::Saver saver({a, b, a});
        }) == "ValueError: At least two variables have the same name: a");
  CHECK(thrown([&] {
          train::Saver saver({{"x", a}, {"y", a}});
        }) == "ValueError: The same saveable will be restored with two names: y");
  CHECK(thrown([&] { train::Saver saver(std::vector<Variable>{}); }) ==
        "ValueError: No variables to save");
  Graph other;
  const auto inner = other.as_default();
  const Variable elsewhere = variable("c", Array::scalar(1.0F));
  CHECK(thrown([&] { train::Saver saver({a, elsewhere}); }).starts_with("ValueError: "));
}

TEST_CASE("an empty Saver, where allowed, does nothing") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  train::Saver saver({.allow_empty = true});
  Session session;
  CHECK(saver.save(session, (folder / "m").string()).empty());
  saver.restore(session, "nowhere");
  CHECK(folder.files() == 0);
  CHECK(graph.size() == 0);
}

TEST_CASE("saving an uninitialised variable leaves nothing behind") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  train::Saver saver;
  Session session;
  CHECK(thrown([&] { saver.save(session, (folder / "m").string()); }) ==
        "FailedPreconditionError: Attempting to use uninitialized value w");
  CHECK(folder.files() == 0);
  CHECK(saver.last_checkpoints().empty());
}

TEST_CASE("paths that cannot be written") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  train::Saver saver;
  Session session;
  initialize(session);
  const std::string deep = (folder / "no/such/folder/m").string();
  CHECK(thrown([&] { saver.save(session, deep); }) ==
        "ValueError: Parent directory of " + deep + " doesn't exist, can't save.");
  CHECK(thrown([&] { saver.save(session, (folder / "m").string(), {.latest_filename = "a/b"}); }) ==
        "ValueError: 'latest_filename' must not contain path components");
  CHECK(thrown([&] { saver.save(session, (folder / "checkpoint").string()); }) ==
        "ValueError: 'latest_filename' collides with 'save_path': 'checkpoint' and '" +
            (folder / "checkpoint").string() + "'");
  CHECK(thrown([&] {
          saver.save(session, folder.path().string() + "/");
        }).starts_with("InvalidArgumentError: "));
  CHECK(thrown([&] {
          saver.save(session, (folder / "m").string(), {.global_step = w});
        }).starts_with("TypeError: global_step must be an int32 or int64"));
  CHECK(folder.files() == 0);
  // Like TensorFlow, creates the last folder of the path if only that one is missing.
  CHECK(saver.save(session, (folder / "new/m").string()) == (folder / "new/m").string());
}

TEST_CASE("a checkpoint that is not there") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  const train::Saver saver;
  Session session;
  const std::string path = (folder / "m").string();
  CHECK(thrown([&] { saver.restore(session, path); }) ==
        "ValueError: The passed save_path is not a valid checkpoint: " + path);
  const auto on_folder = [&] { saver.restore(session, folder.path().string()); };
  CHECK(thrown(on_folder).starts_with("NotFoundError: "));
  CHECK(hint_of(on_folder).find("latest_checkpoint") != std::string::npos);
  const auto latest = [&] {
    saver.restore(session, train::latest_checkpoint(folder.path().string()));
  };
  CHECK(thrown(latest) == "ValueError: Can't load save_path when it is None.");
  write_raw(path + ".index", "hello");
  CHECK(thrown([&] { saver.restore(session, path); }).starts_with("DataLossError: "));
}

TEST_CASE("missing keys: the first in the message, all of them and near names in the hint") {
  const ScratchFolder folder;
  std::string path;
  {
    Graph graph;
    const auto guard = graph.as_default();
    variable("conv1/weights", Array::scalar(1.0F));
    variable("kept", Array::scalar(2.0F));
    Session session;
    initialize(session);
    path = train::Saver().save(session, (folder / "m").string());
  }
  Graph graph;
  const auto guard = graph.as_default();
  const Variable kept = variable("kept", Array::scalar(7.0F));
  const Variable weight = variable("conv1/weight", Array::scalar(7.0F));
  const train::Saver one;
  const Variable zzz = variable("zzz", Array::scalar(7.0F));
  const train::Saver two;
  Session session;
  initialize(session);
  const auto restore_one = [&] { one.restore(session, path); };
  const std::string text = thrown(restore_one);
  CHECK(text.starts_with("NotFoundError: Restoring from checkpoint " + path + " failed"));
  CHECK(text.ends_with("Key conv1/weight not found in checkpoint"));
  CHECK(hint_of(restore_one) == "nearest existing: 'conv1/weights'");
  CHECK(hint_of([&] { two.restore(session, path); }) ==
        "2 of 3 keys are missing: 'conv1/weight', 'zzz'; nearest existing: 'conv1/weights'");
  CHECK(session.run(kept) == Array::scalar(7.0F));  // untouched, though the checkpoint has it
}

TEST_CASE("another shape or dtype: nothing is changed") {
  const ScratchFolder folder;
  std::string path;
  {
    Graph graph;
    const auto guard = graph.as_default();
    variable("a", Array::scalar(1.0F));
    variable("w", floats({2}, {1, 2}));
    Session session;
    initialize(session);
    path = train::Saver().save(session, (folder / "m").string());
  }
  const auto message = [&](Array value) {
    Graph graph;
    const auto guard = graph.as_default();
    const Variable a = variable("a", Array::scalar(7.0F));
    const Variable w = variable("w", value);
    const train::Saver saver;
    Session session;
    initialize(session);
    const std::string text = thrown([&] { saver.restore(session, path); });
    CHECK(session.run(a) == Array::scalar(7.0F));
    CHECK(session.run(w) == value);
    return text;
  };
  const std::string start = "InvalidArgumentError: Restoring from checkpoint " + path +
                            " failed: graph and checkpoint do not belong together. ";
  CHECK(message(floats({3}, {1, 2, 3})) ==
        start + "Assign requires shapes of both tensors to match. lhs shape= (3,) rhs shape= (2,)");
  CHECK(message(floats({2, 1}, {1, 2})) ==
        start +
            "Assign requires shapes of both tensors to match. lhs shape= (2, 1) rhs shape= (2,)");
  CHECK(message(Array::of<std::int32_t>({2}, std::vector<std::int32_t>{1, 2})) ==
        start + "tensor_name = w; expected dtype int32 does not equal original dtype float32");
}

TEST_CASE("errors of a save or restore name the node and the line that made the Saver") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  const train::Saver saver;
  Session session;
  try {
    saver.restore(session, "tests/train/golden/saver.ckpt-7");
    FAIL("restored a variable that the checkpoint lacks");
  } catch (const errors::NotFoundError& error) {
    CHECK(error.detail().node == "save/RestoreV2");
    CHECK(std::string(error.detail().site.file).ends_with("saver_errors_test.cc"));
  }
}
