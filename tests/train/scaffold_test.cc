// Scaffold: the parts it makes are TensorFlow's; trainings that use one; more hooks.
#include "train/scaffold.h"

#include "tests/train/golden_nodes.h"
#include "tests/train/saver_support.h"
#include "tests/train/summary/support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

bool contains_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Counts up to 3 and keeps what it counted in a local variable, too.
struct CountingProgram {
  Graph graph;
  DefaultGraphGuard guard = graph.as_default();
  Variable step = tf::train::get_or_create_global_step();
  Variable local =
      tf::get_local_variable("local", Shape{}, {.initializer = tf::constant_initializer(5.0)});
  Variable w = tf::get_variable("w", Shape{}, {.initializer = tf::zeros_initializer()});
  Tensor fed = tf::placeholder_with_default(1.0, Shape{}, {.name = "fed"});
  Operation train = tf::group({tf::assign_add(step, 1).op(), tf::assign_add(w, fed).op()});
};

}  // namespace

TEST_CASE("Scaffold: nodes and collections are TensorFlow's") {
  Graph graph;
  const auto guard = graph.as_default();
  tf::get_variable("v", Shape{2});
  tf::get_local_variable("l", Shape{2});
  tf::summary::scalar("s", 1.0);
  const std::size_t before = graph.size();
  tf::train::Scaffold scaffold({.saver = tf::train::Saver({.name = "kept"})});
  scaffold.finalize();
  std::string text;
  for (std::size_t i = before; i < graph.size(); ++i) {
    const Operation op = graph.operation(i);
    if (!op.name().starts_with("kept/")) text += node_line(op);
  }
  text += "init_op: " + scaffold.init_op()->operation().name() + "\n";
  text += "ready_op: " + scaffold.ready_op()->name() + "\n";
  text += "ready_for_local_init_op: " + scaffold.ready_for_local_init_op()->name() + "\n";
  text += "local_init_op: " + scaffold.local_init_op()->operation().name() + "\n";
  text += "summary_op: " + scaffold.summary_op()->name() + "\n";
  CHECK(text == read_raw("tests/train/golden/scaffold.txt"));
  CHECK(graph.finalized());
  for (const char* key :
       {"init_op", "ready_op", "ready_for_local_init_op", "local_init_op", "summary_op"}) {
    CAPTURE(key);
    CHECK(graph.collections().matching(key, std::nullopt).size() == 1);
  }
}

TEST_CASE("Scaffold: parts of collections and of another scaffold") {
  Graph graph;
  const auto guard = graph.as_default();
  tf::get_variable("v", Shape{2});
  const Operation init = tf::no_op({.name = "mine"});
  tf::add_to_collection(GraphKeys::INIT_OP, init);
  const Operation local = tf::no_op({.name = "local"});
  const tf::train::Scaffold first({.local_init_op = local});
  tf::train::Scaffold scaffold({.copy_from_scaffold = &first});
  scaffold.finalize();
  CHECK(scaffold.init_op()->operation() == init);
  CHECK(scaffold.local_init_op()->operation() == local);
  CHECK_FALSE(scaffold.summary_op());
  CHECK(scaffold.saver());

  Graph other;
  const auto inside = other.as_default();
  for (int i = 0; i < 2; ++i) tf::add_to_collection(GraphKeys::INIT_OP, tf::no_op());
  CHECK_THROWS_AS(tf::train::Scaffold().finalize(), RuntimeError);
}

TEST_CASE("a training with a scaffold: init_fn and feeds, not called when it resumes") {
  const ScratchFolder folder;
  int calls = 0;
  for (const float expected : {9.0F, 10.0F}) {
    CountingProgram p;
    const Tensor start = tf::placeholder(tf::float32, {.shape = Shape{}});
    const Operation init = tf::group({p.step.initializer(), tf::assign(p.w, start).op()});
    const Operation one_more = tf::assign_add(p.w, 1.0).op();
    const tf::train::Scaffold scaffold({.init_op = init,
                                        .init_feed_dict = {{start, 7.0F}},
                                        .init_fn = [&](tf::train::Scaffold&, Session& session) {
                                          ++calls;
                                          session.run(one_more);
                                        }});
    tf::with(tf::train::MonitoredTrainingSession(
                 {.checkpoint_dir = folder.path(), .scaffold = scaffold}),
             [&](auto& session) {
               session.run(p.train);
               CHECK(session.raw_session().run(p.w).template item<float>() == expected);
               CHECK(session.raw_session().run(p.local).template item<float>() == 5.0F);
             });
  }
  CHECK(calls == 1);
}

TEST_CASE("a training with a scaffold resumes and initializes only local variables") {
  const ScratchFolder folder;
  for (const float expected : {1.0F, 2.0F}) {
    CountingProgram p;
    tf::with(tf::train::MonitoredTrainingSession(
                 {.checkpoint_dir = folder.path(), .scaffold = tf::train::Scaffold()}),
             [&](auto& session) {
               session.run(p.train);
               CHECK(session.raw_session().run(p.w).template item<float>() == expected);
               CHECK(session.raw_session().run(p.local).template item<float>() == 5.0F);
             });
  }
}

TEST_CASE("a scaffold that leaves a variable without a value is an error that names it") {
  CountingProgram p;
  const std::string told = thrown([&] {
    tf::train::MonitoredTrainingSession session(
        {.scaffold = tf::train::Scaffold({.init_op = p.step.initializer()})});
  });
  CHECK(contains_text(told, "did not make model ready for local_init"));
  CHECK(contains_text(told, "Variables not initialized: w"));
  CHECK_THROWS_AS(
      tf::train::MonitoredTrainingSession({.init_op = p.train, .scaffold = tf::train::Scaffold()}),
      ValueError);
}

TEST_CASE("summary_dir without checkpoints, and summaries by seconds") {
  const ScratchFolder folder;
  CountingProgram p;
  tf::summary::scalar("w", p.w);
  tf::with(tf::train::MonitoredTrainingSession(
               {.save_summaries_secs = 1000, .summary_dir = folder.path()}),
           [&](auto& session) {
             for (int i = 0; i < 3; ++i) session.run(p.train);
           });
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    files.push_back(entry.path());
  }
  REQUIRE(files.size() == 1);
  int summaries = 0;
  for (const auto& event : read_events(files[0])) summaries += event.summary ? 1 : 0;
  CHECK(summaries == 1);
}

TEST_CASE("FeedFnHook, FinalOpsHook and GlobalStepWaiterHook") {
  CountingProgram p;
  const auto final_ops = std::make_shared<tf::train::FinalOpsHook>(std::vector<Fetch>{p.w});
  float next = 1;
  const auto feed = std::make_shared<tf::train::FeedFnHook>([&] { return Feeds{{p.fed, next++}}; });
  const auto wait = std::make_shared<tf::train::GlobalStepWaiterHook>(0);
  CHECK(final_ops->final_ops_values().empty());
  tf::with(tf::train::MonitoredTrainingSession({.hooks = {feed, final_ops, wait}}),
           [&](auto& session) {
             for (int i = 0; i < 3; ++i) session.run(p.train);
           });
  REQUIRE(final_ops->final_ops_values().size() == 1);
  CHECK(final_ops->final_ops_values()[0].item<float>() == 6.0F);

  Graph empty;
  const auto guard = empty.as_default();
  CHECK_THROWS_AS(tf::train::GlobalStepWaiterHook(1).begin(), RuntimeError);
}
