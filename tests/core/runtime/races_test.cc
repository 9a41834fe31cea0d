// Sessions that run while another thread builds the graph, calls why_none or assigns variables. The
// tests are meant for sanitizers, but check what they can without them too.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// Calls `step` repeatedly on its own thread until stopped. `stop` rethrows an exception of `step`.
class BackgroundStepper {
 public:
  template <class F>
  explicit BackgroundStepper(F step)
      : thread_([this, step] {
          try {
            while (!stopped_) {
              step();
              ++steps_;
            }
          } catch (...) {
            error_ = std::current_exception();
          }
        }) {}
  ~BackgroundStepper() {
    if (thread_.joinable()) end();
  }
  BackgroundStepper(const BackgroundStepper&) = delete;
  BackgroundStepper& operator=(const BackgroundStepper&) = delete;

  /// Waits until the thread has made `times` steps or has failed.
  void wait_for(int times) const {
    while (steps_ < times && error_ == nullptr) std::this_thread::yield();
  }
  void stop() {
    end();
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void end() {
    stopped_ = true;
    thread_.join();
  }

  std::atomic<bool> stopped_{false};
  std::atomic<int> steps_{0};
  std::exception_ptr error_;
  std::thread thread_;
};

/// Returns a loss without gradient. why_none finds that out only after its trial has created many
/// nodes.
Tensor floored_loss(const Variable& w) {
  Tensor x = tf::floor(w);
  for (int i = 0; i < 40; ++i) x = tf::tanh(x);
  return tf::reduce_sum(x);
}

}  // namespace

TEST_CASE("a session of another thread does not see what why_none tries") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", {3}, {.initializer = tf::ones_initializer()});
  const Tensor loss = floored_loss(w);
  const Tensor answer = tf::constant(42);
  BackgroundStepper runs([&] {
    Session session(graph, {.intra_op_parallelism_threads = 1});  // visits all nodes
    CHECK(session.run(answer).item<int>() == 42);
  });
  for (int i = 0; i < 100; ++i) {
    const auto beside = tf::colocate_with(w.op());
    CHECK(tf::why_none(loss, w).cause == NoneCause::no_gradient_op);
  }
  runs.stop();
}

TEST_CASE("a session that runs within a trial knows nothing of it afterwards") {
  static Session* session = nullptr;
  static Fetch* fetch = nullptr;
  OpRegistry::global().add(
      {.name = "TestRunsInGradient",
       .shape = [](InferenceContext& c) { c.add_output(c.dtype(0), c.shape(0)); },
       .gradient =
           [](const Operation&, const std::vector<OptionalGradient>&) {
             session->run(*fetch);
             return std::vector<OptionalGradient>{std::nullopt};
           }});
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", {3}, {.initializer = tf::ones_initializer()});
  const Operand operand(w);
  const Tensor passed =
      OpBuilder("TestRunsInGradient", "", Site::current(), {&operand}).input(operand, "x").output();
  const Tensor loss = tf::reduce_sum(passed);
  Session own;
  Fetch answer(tf::constant(42));
  session = &own;
  fetch = &answer;
  tf::why_none(loss, w);
  const auto nowhere = tf::device("/gpu:7");
  tf::constant(1, {.name = "of_no_device"});
  CHECK_THROWS_WITH_AS(own.run(answer), doctest::Contains("of_no_device"),
                       errors::InvalidArgumentError);
}

TEST_CASE("a session of another thread sees a node when device functions have seen it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor answer = tf::constant(42);
  Session session;
  BackgroundStepper runs([&] { CHECK(session.run(answer).item<int>() == 42); });
  const auto chosen = tf::device([](const Operation& op) {
    return op.type() == "Const" ? std::string("/device:CPU:0") : std::string();
  });
  for (int i = 0; i < 300; ++i) tf::constant(i);
  runs.wait_for(1);
  runs.stop();
}

TEST_CASE("set_shape beside a session that plans") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32), y = x * 2.0F;
  Session session;
  std::atomic<int> rows{1};
  BackgroundStepper plans([&] {
    const int n = rows++ % 60 + 1;
    CHECK(session.run(y, {{x, Array::zeros(float32, {n, 3})}}).shape() == Shape{n, 3});
  });
  for (int i = 0; i < 2000; ++i) {
    for (Tensor changed : {x, y}) changed.set_shape({None, i < 1000 ? Dim(None) : Dim(3)});
  }
  plans.wait_for(20);
  plans.stop();
}

TEST_CASE("an output whose shape is in a variable beside a thread that assigns it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable sizes(tf::constant({2, 3}), {.name = "sizes"});
  const Tensor filled = tf::fill(sizes, 7.0F);
  const Tensor turned = tf::assign(sizes, tf::constant({3, 2}));
  const Tensor back = tf::assign(sizes, tf::constant({2, 3}));
  Session session;
  session.run(sizes.initializer());
  BackgroundStepper assigns([&] {
    session.run(turned);
    session.run(back);
  });
  int wrong = 0, failed = 0;
  for (int i = 0; i < 3000; ++i) {
    try {
      const Shape shape = session.run(filled).shape();
      wrong += shape != Shape{2, 3} && shape != Shape{3, 2} ? 1 : 0;
    } catch (const Error&) {
      ++failed;
    }
  }
  assigns.stop();
  CHECK(wrong == 0);
  CHECK(failed == 0);
}

TEST_CASE("an output whose shape is in a variable that is not initialised") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable step(tf::constant({2}), {.name = "step"});
  const Tensor sliced = tf::strided_slice(tf::ones({8}), {0}, {8}, step);
  Session session;
  CHECK_THROWS_WITH_AS(session.run(sliced),
                       doctest::Contains("Attempting to use uninitialized value step"),
                       errors::FailedPreconditionError);
  session.run(step.initializer());
  CHECK(session.run(sliced).shape() == Shape{4});
}
