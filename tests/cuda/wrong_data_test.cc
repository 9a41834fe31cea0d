// What kernels on emulated GPUs find wrong in their data is the CPU's error, and values that the
// host must know before a launch keep an op there.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/models/steps.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

using Ints = std::vector<std::int32_t>;

ConfigProto on_gpus(int count) {
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = count, .emulated = true};
  return config;
}

/// What a run of `make(x)` on /gpu:0 gives for these integers: its text if it fails.
struct Outcome {
  using Make = std::function<Tensor(const Tensor&)>;

  Outcome(const Make& make, const ConfigProto& config, const Ints& x) {
    Graph graph;
    const auto guard = graph.as_default();
    const auto gpu = tf::device("/gpu:0");
    const Shape shape{static_cast<std::int64_t>(x.size())};
    const Tensor fed = tf::placeholder(tf::int32, {.shape = shape});
    const Tensor y = make(fed);
    Session session(graph, config);
    const Feeds feeds{{fed, Array::of(shape, x)}};
    report = session.plan_report(std::vector<Fetch>{y}, feeds);
    text = testing::error_text([&] { value = session.run(y, feeds); });
  }

  Array value;
  std::string text, report;
};

/// The part of an error's text that does not name the device.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

struct Wrong {
  Ints data, right;
  Outcome::Make make;
};

const std::map<std::string, Wrong>& wrong_data() {
  const auto sevens = [](const Tensor& like) { return tf::fill(tf::shape(like), 7); };
  static const std::map<std::string, Wrong> all{
      {"GatherV2",
       {{2, -1, 0}, {2, 1, 0}, [](const Tensor& x) { return tf::gather(tf::range(24), x); }}},
      {"GatherNd",
       {{2, 3, 0},
        {2, 1, 0},
        [](const Tensor& x) {
          return tf::gather_nd(tf::ones({3, 2}), tf::expand_dims(x, -1));
        }}},
      {"ScatterNd",
       {{0, 4, 1},
        {0, 3, 1},
        [](const Tensor& x) {
          return tf::scatter_nd(tf::expand_dims(x, -1), tf::ones({x.shape()[0], 2}), Ints{4, 2});
        }}},
      {"UnsortedSegmentSum",
       {{0, 5, -1},
        {0, 4, -1},
        [](const Tensor& x) {
          return tf::unsorted_segment_sum(tf::ones({x.shape()[0], 2}), x, 5);
        }}},
      {"FloorDiv",
       {{2, 0}, {2, -3}, [sevens](const Tensor& x) { return tf::floordiv(sevens(x), x); }}},
      {"FloorMod", {{2, 0}, {2, -3}, [sevens](const Tensor& x) { return tf::mod(sevens(x), x); }}},
      {"TruncateDiv",
       {{2, 0}, {2, -3}, [sevens](const Tensor& x) { return tf::truncatediv(sevens(x), x); }}},
      {"Pow", {{2, -1}, {2, 3}, [sevens](const Tensor& x) { return tf::pow(sevens(x), x); }}},
      {"ReverseSequence",
       {{4, 1},
        {3, 1},
        [](const Tensor& x) {
          return tf::reverse_sequence(tf::ones({2, 3}), x, {.seq_axis = 1, .batch_axis = 0});
        }}},
  };
  return all;
}

}  // namespace

TEST_SUITE("wrong data on emulated GPUs") {
  TEST_CASE("the error is the CPU's, and right data give its values") {
    for (const auto& [op, wrong] : wrong_data()) {
      CAPTURE(op);
      const Outcome cpu(wrong.make, on_gpus(0), wrong.data),
          gpu(wrong.make, on_gpus(1), wrong.data);
      CHECK(gpu.text != "nothing was thrown");
      CHECK(first_line(gpu.text) == first_line(cpu.text));
      CHECK(gpu.report.find(op + " [host emulation, cuda]") != std::string::npos);
      const Outcome expected(wrong.make, on_gpus(0), wrong.right),
          found(wrong.make, on_gpus(1), wrong.right);
      CHECK(found.text == "nothing was thrown");
      CHECK(found.value == expected.value);
    }
  }

  TEST_CASE("of several wrong numbers the first is named, whatever the order of threads") {
    for (const auto& [op, wrong] : wrong_data()) {
      if (wrong.data.size() < 3) continue;
      CAPTURE(op);
      Ints many(3000, wrong.right[0]);
      many[1700] = many[2999] = -7;
      many[901] = many[2000] = 77;
      const Outcome cpu(wrong.make, on_gpus(0), many);
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        ConfigProto config = on_gpus(1);
        config.cuda.seed = seed;
        CHECK(first_line(Outcome(wrong.make, config, many).text) == first_line(cpu.text));
      }
      CHECK(cpu.text.find("901") != std::string::npos);
    }
  }

  TEST_CASE("a slice whose begin is fed runs on the host, with a known begin on the GPU") {
    const auto part = [](const Tensor& x) {
      return tf::slice(tf::tile(tf::expand_dims(x, 0), {4, 1}), {1, 1}, {2, 1});
    };
    const Outcome known(part, on_gpus(1), {1, 2});
    CHECK(known.report.find("Slice [host emulation, cuda]") != std::string::npos);
    const auto moved = [](const Tensor& x) {
      return tf::slice(tf::range(9) * tf::reduce_sum(x), x, {1});
    };
    const Outcome fed(moved, on_gpus(1), {3});
    CHECK(fed.report.find("Slice [host emulation, cuda]") == std::string::npos);
    CHECK(fed.value == Array::of(Shape{1}, Ints{9}));
  }
}
