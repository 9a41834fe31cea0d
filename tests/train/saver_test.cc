// Saving and restoring through sessions.
#include <fmt/format.h>

#include <limits>

#include "ops/array/view.h"
#include "ops/variables/assign.h"
#include "tests/train/saver_support.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Makes the variables that golden/make_golden.py saves.
void golden_variables() {
  variable("net/w", floats({3, 2}, {0, 0.25, 0.5, 0.75, 1, 1.25}));
  variable("net/b", floats({3}, {1, -2, 3}));
  variable("global_step", Array::scalar<std::int64_t>(7));
  Array flags = Array::zeros(DType::bool_, {2});
  flags.data<bool>()[0] = true;
  variable("Flags", flags);
  variable("labels", Array::of<std::string>({3}, std::vector<std::string>{"one", "", "three"}));
  variable("nothing", Array(DType::float64, {0, 4}));
}

std::map<std::string, Array> values(Session& session) {
  std::map<std::string, Array> found;
  for (const Variable& variable : global_variables())
    found[variable.op().name()] = session.run(variable);
  return found;
}

const std::string kFiles[] = {".index", ".data-00000-of-00001"};

}  // namespace

TEST_CASE("a checkpoint is TensorFlow's, byte for byte") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  golden_variables();
  train::Saver saver;
  Session session;
  initialize(session);
  const Tensor step = graph.get_tensor_by_name("global_step:0");
  const std::string path =
      saver.save(session, (folder / "saver.ckpt").string(), {.global_step = step});
  CHECK(path == (folder / "saver.ckpt-7").string());
  for (const std::string& file : kFiles) {
    const std::string golden = read_raw("tests/train/golden/saver.ckpt-7" + file);
    REQUIRE(golden.size() > 50);
    CHECK(read_raw(path + file) == golden);
  }
  CHECK(listing(folder.path()) == "checkpoint saver.ckpt-7.data-00000-of-00001 saver.ckpt-7.index");
}

TEST_CASE("TensorFlow's checkpoint is restored into uninitialised variables") {
  Graph graph;
  const auto guard = graph.as_default();
  golden_variables();
  const train::Saver saver;
  Session initial, restored;
  initialize(initial);
  saver.restore(restored, "tests/train/golden/saver.ckpt-7");
  CHECK(values(restored) == values(initial));
}

TEST_CASE("round trip into another graph, whose variables come in another order") {
  const ScratchFolder folder;
  const Array w = floats({2, 2}, {1, 2, 3, std::numeric_limits<float>::quiet_NaN()});
  const Array b = floats({}, {-0.0F});
  std::string path;
  {
    Graph graph;
    const auto guard = graph.as_default();
    const Variable first = variable("net/w", Array::zeros(DType::float32, {2, 2}));
    const Variable second = variable("net/b", b);
    Session session;
    initialize(session);
    session.run(assign(first, Operand(w)));
    path = train::Saver().save(session, (folder / "m").string());
  }
  CHECK(path == (folder / "m").string());
  Graph graph;
  const auto guard = graph.as_default();
  const Variable second = variable("net/b", Array::scalar(5.0F));
  const Variable first = variable("net/w", Array::zeros(DType::float32, {2, 2}));
  Session session;
  train::Saver().restore(session, path);
  CHECK(session.run(first) == w);
  CHECK(session.run(second) == b);
}

TEST_CASE("a map restores a part under other names and leaves the rest alone") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable x = variable("x", Array::scalar(1.0F)), y = variable("y", Array::scalar(2.0F));
  train::Saver all;
  const train::Saver swapped({{"y", x}});
  Session session;
  initialize(session);
  const std::string path = all.save(session, (folder / "m").string());
  session.run(assign(y, 9.0F));
  swapped.restore(session, path);
  CHECK(session.run(x) == Array::scalar(2.0F));
  CHECK(session.run(y) == Array::scalar(9.0F));

  train::Saver renamed(std::map<std::string, Variable>{{"there/x", x}});
  const TensorBundleReader reader(renamed.save(session, (folder / "n").string()));
  CHECK(reader.tensors().size() == 1);
  CHECK(reader.read("there/x") == Array::scalar(2.0F));
}

TEST_CASE("a save sees the writes before it and none after, run by run") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar<std::int32_t>(0));
  const Tensor add = assign_add(w, 1);
  train::Saver saver({w}, {.max_to_keep = 0});
  Session session;
  initialize(session);
  for (int step = 1; step <= 3; ++step) {
    session.run(add);
    saver.save(session, (folder / "m").string(), {.global_step = step});
  }
  for (int step = 1; step <= 3; ++step) {
    const TensorBundleReader reader(folder / fmt::format("m-{}", step));
    CHECK(reader.read("w") == Array::scalar<std::int32_t>(step));
  }
}

TEST_CASE("max_to_keep: the oldest go, index and data, and the state file names the rest") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  train::Saver saver({w}, {.max_to_keep = 2});
  Session session;
  initialize(session);
  const std::string prefix = (folder / "m").string();
  write_raw(folder / "m-1.data-00000-of-000012", "another file");
  for (int step = 1; step <= 4; ++step) {
    saver.save(session, prefix, {.global_step = step});
    if (step == 1) write_raw(folder / "m-1.meta", "TensorFlow's graph");
  }
  CHECK(saver.last_checkpoints() == std::vector<std::string>{prefix + "-3", prefix + "-4"});
  CHECK(listing(folder.path()) ==
        "checkpoint m-1.data-00000-of-000012 m-3.data-00000-of-00001 m-3.index "
        "m-4.data-00000-of-00001 m-4.index");
  CHECK(train::latest_checkpoint(folder.path()) == prefix + "-4");
  CHECK(train::get_checkpoint_state(folder.path())->all_model_checkpoint_paths ==
        saver.last_checkpoints());

  saver.save(session, prefix, {.global_step = 3});  // saved again, so now the newest
  CHECK(saver.last_checkpoints() == std::vector<std::string>{prefix + "-4", prefix + "-3"});
  CHECK(train::latest_checkpoint(folder.path()) == prefix + "-3");

  train::Saver continued({w}, {.max_to_keep = 2});
  continued.recover_last_checkpoints({prefix + "-1", prefix + "-4", prefix + "-3"});
  CHECK(continued.last_checkpoints() == saver.last_checkpoints());
  continued.save(session, prefix, {.global_step = 5});
  CHECK_FALSE(std::filesystem::exists(prefix + "-4.index"));
  CHECK(std::filesystem::exists(prefix + "-3.index"));
}

TEST_CASE("what is kept: all with max_to_keep 0, one every so many hours besides the newest") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  Session session;
  initialize(session);
  train::Saver all({w}, {.max_to_keep = 0});
  train::Saver hourly({w}, {.max_to_keep = 1, .keep_checkpoint_every_n_hours = 0});
  for (int step = 1; step <= 3; ++step) {
    all.save(session, (folder / "a").string(), {.global_step = step});
    CHECK(std::filesystem::exists(folder / fmt::format("a-{}.index", 1)));
    hourly.save(session, (folder / "h").string(), {.global_step = step});
  }
  CHECK(all.last_checkpoints().empty());
  CHECK(hourly.last_checkpoints().size() == 1);
  for (int step = 1; step <= 3; ++step)
    CHECK(std::filesystem::exists(folder / fmt::format("h-{}.index", step)));
}

TEST_CASE("options of save: the state file's name, none at all, padded steps, relative paths") {
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  Session session;
  initialize(session);
  train::Saver saver({w}, {.pad_step_number = true, .save_relative_paths = true});
  const std::string path =
      saver.save(session, (folder / "m").string(), {.global_step = 42, .write_state = false});
  CHECK(path == (folder / "m-00000042").string());
  CHECK_FALSE(std::filesystem::exists(folder / "checkpoint"));
  CHECK(saver.last_checkpoints().empty());
  saver.save(session, (folder / "m").string(), {.global_step = 43, .latest_filename = "newest"});
  CHECK(read_raw(folder / "newest") ==
        "model_checkpoint_path: \"m-00000043\"\nall_model_checkpoint_paths: \"m-00000043\"\n");
}

TEST_CASE("saving with several devices, restoring with one, and the other way") {
  const ScratchFolder folder;
  const Array value = floats({2}, {3, 4});
  std::string path;
  for (const int devices : {2, 1}) {
    Graph graph;
    const auto guard = graph.as_default();
    Variable a, b;
    {
      const auto first = device("/cpu:0");
      a = variable("a", value);
    }
    {
      const auto second = device(devices == 2 ? "/cpu:1" : "/cpu:0");
      b = variable("b", value);
    }
    train::Saver saver;
    Session session({.device_count = {{"CPU", devices}}});
    if (devices == 2) {
      initialize(session);
      path = saver.save(session, (folder / "m").string());
      session.run(assign(b, Operand(floats({2}, {0, 0}))));
    }
    saver.restore(session, path);
    CHECK(session.run(a) == value);
    CHECK(session.run(b) == value);
  }
}

TEST_CASE("a saveable object of the program's own is saved and restored with the variables") {
  // Saves the value of a variable under a separate key and restores it doubled.
  class Doubled final : public train::SaveableObject {
   public:
    explicit Doubled(const Variable& variable)
        : SaveableObject("_input/doubled", {{variable.value(), "_input/doubled"}}),
          variable_(variable) {}
    Operation restore(const std::vector<Tensor>& restored, Site site) const override {
      const auto once = assign(variable_, restored.at(0), {}, site);
      const auto after = control_dependencies({once});
      return assign_add(variable_, restored.at(0), {}, site).op();
    }

   private:
    Variable variable_;
  };
  const ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", Array::scalar(1.0F));
  const Variable local(5.0F, {.collections = {{GraphKeys::LOCAL_VARIABLES}}, .name = "local"});
  add_to_collection(GraphKeys::SAVEABLE_OBJECTS, train::Saveable(std::make_shared<Doubled>(local)));
  train::Saver saver;
  Session session;
  initialize(session);
  session.run(local_variables_initializer());
  const std::string path = saver.save(session, (folder / "m").string());
  CHECK(TensorBundleReader(path).tensors().size() == 2);
  CHECK(TensorBundleReader(path).read("_input/doubled") == Array::scalar(5.0F));
  saver.restore(session, path);
  CHECK(session.run(local) == Array::scalar(10.0F));
}
