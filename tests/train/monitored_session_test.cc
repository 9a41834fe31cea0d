// The training loop: order of the hooks, checkpoints and resuming, and the state after an error.
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>

#include "tests/data/support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Trains w from 0 towards 1. The fed `scale` multiplies the loss and so the step.
struct Program {
  Program() {
    w = tf::get_variable("w", Shape{}, {.initializer = tf::zeros_initializer()});
    scale = tf::placeholder(tf::float32, {.shape = Shape{}, .name = "scale"});
    loss = tf::square(w - 1.0) * scale;
    tf::summary::scalar("loss", loss);
    tf::train::GradientDescentOptimizer opt(0.1);
    train_op = opt.minimize(loss, {.global_step = tf::train::get_or_create_global_step()});
  }

  Graph graph;
  DefaultGraphGuard guard = graph.as_default();
  Variable w;
  Tensor scale, loss;
  Operation train_op;
};

/// Records its calls in a text.
class CallRecorder : public tf::train::SessionRunHook {
 public:
  explicit CallRecorder(std::string& text) : text_(text) {}
  void begin() override { text_ += "begin "; }
  void after_create_session(tf::train::SessionRunContext& context,
                            tf::train::Coordinator&) override {
    text_ += "created@" + std::to_string(context.global_step()) + " ";
  }
  tf::train::SessionRunArgs before_run(tf::train::SessionRunContext& context) override {
    text_ += std::to_string(context.global_step()) + "<";
    return {};
  }
  void after_run(tf::train::SessionRunContext& context,
                 const tf::train::SessionRunValues& values) override {
    CHECK(values.results.empty());
    text_ += std::to_string(context.global_step()) + " ";
  }
  void end(tf::train::SessionRunContext&) override { text_ += "end"; }

 private:
  std::string& text_;
};

/// Feeds the scale in every run: `bad` at step `bad_step`, 1 otherwise.
class FeedsScale : public tf::train::SessionRunHook {
 public:
  FeedsScale(const Program& program, std::int64_t bad_step, float bad)
      : scale_(program.scale), bad_step_(bad_step), bad_(bad) {}
  tf::train::SessionRunArgs before_run(tf::train::SessionRunContext& context) override {
    return {{}, {{scale_, context.global_step() == bad_step_ ? bad_ : 1.0F}}};
  }

 private:
  Tensor scale_;
  std::int64_t bad_step_;
  float bad_;
};

using Hooks = std::vector<std::shared_ptr<tf::train::SessionRunHook>>;

Hooks hooks_until(const Program& program, std::int64_t last_step, Hooks more = {}) {
  Hooks hooks{std::make_shared<FeedsScale>(program, -1, 1.0F),
              std::make_shared<tf::train::StopAtStepHook>(
                  tf::train::StopAtStepOptions{.last_step = last_step})};
  hooks.insert(hooks.end(), more.begin(), more.end());
  return hooks;
}

void run_all(const Program& program, tf::train::MonitoredTrainingSession& session) {
  tf::with(session, [&](auto& sess) {
    while (!sess.should_stop()) sess.run(program.train_op);
  });
}

float train_until(const std::string& folder, std::int64_t last_step, std::string* diary = nullptr) {
  const Program program;
  std::string text;
  tf::train::MonitoredTrainingSession sess(
      {.checkpoint_dir = folder,
       .hooks = hooks_until(program, last_step, {std::make_shared<CallRecorder>(text)}),
       .save_checkpoint_steps = 4,
       .log_step_count_steps = 0});
  run_all(program, sess);
  if (diary != nullptr) *diary = text;
  return sess.raw_session().run(program.w).item<float>();
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("hooks are called around each run, and at the ends of the training") {
  const Program program;
  std::string diary;
  tf::train::MonitoredTrainingSession sess(
      {.hooks = hooks_until(program, 2, {std::make_shared<CallRecorder>(diary)})});
  run_all(program, sess);
  CHECK(diary == "begin created@0 0<1 1<2 end");
  CHECK(sess.global_step() == 2);
  CHECK_THROWS_WITH_AS(sess.run(program.train_op), doctest::Contains("should_stop"), RuntimeError);
}

TEST_CASE("a training that is stopped goes on from its checkpoint") {
  const ScratchFolder folder;
  std::string diary;
  train_until((folder / "parts").string(), 3);
  const float parts = train_until((folder / "parts").string(), 6, &diary);
  CHECK(diary == "begin created@3 3<4 4<5 5<6 end");
  CHECK(parts == train_until((folder / "whole").string(), 6));
  // Saved whenever the global step is a multiple of 4, and at the end of each session.
  const auto kept = tf::train::get_checkpoint_state((folder / "parts").string());
  std::string steps;
  for (const std::string& path : kept->all_model_checkpoint_paths) {
    steps += path.substr(path.rfind('-'));
  }
  CHECK(steps == "-3-4-6");
  // With no steps left, training runs no step.
  train_until((folder / "parts").string(), 6, &diary);
  CHECK(diary == "begin created@6 end");
}

TEST_CASE("no other training gets the folder while a session has it") {
  const ScratchFolder folder;
  const Program program;
  {
    const tf::train::TrainingFolder held((folder / "a").string(), {});
    CHECK_THROWS_AS(tf::train::TrainingFolder((folder / "a").string(), {}),
                    errors::UnavailableError);
  }
  const tf::train::TrainingFolder again((folder / "a").string(), {});
  CHECK(again.resumed_from().empty());
}

TEST_CASE("a training anew keeps the old checkpoint until it saves") {
  const ScratchFolder folder;
  const std::string path = (folder / "a").string();
  train_until(path, 3);
  const Program program;
  tf::train::TrainingFolder anew(path, {.restart = true});
  CHECK(anew.replaces());
  tf::train::MonitoredTrainingSession sess(
      {.checkpoint_dir = anew, .hooks = hooks_until(program, 1), .save_checkpoint_steps = 0});
  CHECK(sess.global_step() == 0);
  CHECK(tf::train::latest_checkpoint(path) == path + "/model.ckpt-3");
  run_all(program, sess);
  CHECK(tf::train::latest_checkpoint(path) == path + "/model.ckpt-1");
  CHECK_FALSE(anew.replaces());
}

TEST_CASE("a loss that is no number ends the training before it is saved") {
  const ScratchFolder folder;
  const std::string path = (folder / "a").string();
  for (const bool fail : {true, false}) {
    const Program program;
    std::string diary;
    tf::train::MonitoredTrainingSession sess(
        {.checkpoint_dir = path,
         .hooks = {std::make_shared<FeedsScale>(program, fail ? 2 : -1,
                                                std::numeric_limits<float>::infinity()),
                   std::make_shared<tf::train::NanTensorHook>(
                       program.loss, tf::train::NanTensorOptions{.what = "the loss"}),
                   std::make_shared<tf::train::StopAtStepHook>(
                       tf::train::StopAtStepOptions{.last_step = 4}),
                   std::make_shared<CallRecorder>(diary)},
         .save_checkpoint_steps = 1});
    const std::string error = error_of([&] { run_all(program, sess); });
    if (fail) {
      CHECK(error == "Model diverged with loss = infinity in the loss at step 2");
      CHECK(diary == "begin created@0 0<1 1<2 2<");
      CHECK(tf::train::latest_checkpoint(path) == path + "/model.ckpt-2");
    } else {
      CHECK(error == "");
      CHECK(diary == "begin created@2 2<3 3<4 end");
    }
  }
}

TEST_CASE("a loss in float16 that is no number ends the training too") {
  tf::Graph graph;
  const auto guard = graph.as_default();
  const auto x = tf::placeholder(tf::float16, {.shape = tf::Shape{}});
  const auto step = tf::train::create_global_step();
  const auto count = tf::assign_add(step, 1);
  const auto loss = x * 2.0;
  tf::train::MonitoredTrainingSession sess(
      {.hooks = {std::make_shared<tf::train::NanTensorHook>(loss)}});
  sess.run(count, {{x, 30000.0}});
  CHECK_THROWS_WITH_AS(sess.run(count, {{x, 40000.0}}),
                       doctest::Contains("Model diverged with loss = infinity"),
                       tf::train::NanLossDuringTrainingError);
}

TEST_CASE("an error of the program's own is thrown when the hooks were not ended") {
  const Program program;
  std::string diary;
  tf::train::MonitoredTrainingSession sess(
      {.hooks = hooks_until(program, 9, {std::make_shared<CallRecorder>(diary)})});
  CHECK(error_of([&] {
          tf::with(sess, [&](auto& session) {
            session.run(program.train_op);
            throw ValueError("mine");
          });
        }) == "mine");
  CHECK(diary == "begin created@0 0<1 ");
}

TEST_CASE("values and rates are logged, summaries written every so many steps") {
  const ScratchFolder folder;
  const std::string path = (folder / "a").string();
  std::string log;
  const LogSink before =
      set_log_sink([&](LogLevel, std::string_view text) { log += std::string(text) + "\n"; });
  {
    const Program program;
    tf::train::MonitoredTrainingSession sess(
        {.checkpoint_dir = path,
         .hooks =
             hooks_until(program, 5,
                         {std::make_shared<tf::train::LoggingTensorHook>(
                             std::vector<std::pair<std::string, Tensor>>{{"loss", program.loss}},
                             tf::train::LoggingTensorOptions{.every_n_iter = 2})}),
         .save_summaries_steps = 2,
         .log_step_count_steps = 4});
    run_all(program, sess);
  }
  set_log_sink(before);
  CHECK(log.find("loss = 1.0\n") != std::string::npos);
  CHECK(log.find("loss = 0.4") != std::string::npos);
  CHECK(log.find("loss = 0.64") == std::string::npos);
  CHECK(log.find("global_step/sec: ") != std::string::npos);
  CHECK(log.find("global_step/sec: ") == log.rfind("global_step/sec: "));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    files += entry.path().filename().string().starts_with("events.out") ? 1 : 0;
  }
  CHECK(files == 1);
}

TEST_CASE("options of hooks that say nothing, or too much") {
  const Program program;
  CHECK_THROWS_AS(tf::train::StopAtStepHook({}), ValueError);
  CHECK_THROWS_AS(tf::train::StopAtStepHook({.num_steps = 1, .last_step = 1}), ValueError);
  CHECK_THROWS_AS(tf::train::LoggingTensorHook({program.loss}, {}), ValueError);
  CHECK_THROWS_AS(tf::train::SummarySaverHook({.save_steps = 0, .output_dir = "a"}), ValueError);
  CHECK_THROWS_AS(tf::train::SummarySaverHook({.save_steps = 1}), ValueError);
  CHECK_THROWS_AS(tf::train::CheckpointSaverHook(tf::train::TrainingFolder{}), ValueError);
}
