// Every number of golden/*.txt, which TensorFlow wrote, against those of our ops in a session.

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/graph/op_def.h"
#include "core/runtime/session.h"
#include "ops/array/view.h"
#include "ops/random/attributes.h"
#include "ops/random/random_ops.h"
#include "tests/ops/random/golden.h"

using namespace towerflow;

namespace {

std::int64_t next_int(std::istream& line) {
  std::int64_t value = 0;
  REQUIRE(bool(line >> std::dec >> value));
  return value;
}

std::string next_word(std::istream& line) {
  std::string word;
  REQUIRE(bool(line >> word));
  return word;
}

std::optional<std::int64_t> next_seed(std::istream& line) {
  const std::string word = next_word(line);
  if (word == "-") return std::nullopt;
  return std::stoll(word);
}

/// An int32 tensor of any shape, to be fed.
Tensor fed_integers(Graph& graph) {
  static const bool added = [] {
    OpRegistry::global().add({.name = "TestFed", .shape = [](InferenceContext& c) {
                                c.add_output(DType::int32, Shape::unknown());
                              }});
    return true;
  }();
  REQUIRE(added);
  return graph.add({.op = "TestFed", .name = "fed"}).output(0);
}

/// A fresh op in a fresh session, as a header states it; `input` is fed.
struct Stream {
  std::string dtype;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::unique_ptr<Session> session;
  Tensor input, output;
};

const char* type_of(const std::string& op) {
  if (op == "uniform") return "RandomUniform";
  if (op == "uniform_int") return "RandomUniformInt";
  if (op == "normal") return "RandomStandardNormal";
  return op == "shuffle" ? "RandomShuffle" : "TruncatedNormal";
}

Stream open_stream(std::istream& line) {
  const std::string op = next_word(line);
  Stream s{.dtype = op == "shuffle" ? "int32" : next_word(line)};
  const auto guard = s.graph->as_default();
  const DType dtype = s.dtype == "float32"   ? DType::float32
                      : s.dtype == "float64" ? DType::float64
                      : s.dtype == "int32"   ? DType::int32
                                             : DType::int64;
  const std::int64_t seed = next_int(line);
  const random::Seeds seeds{seed, next_int(line)};
  s.input = fed_integers(*s.graph);
  NodeSpec spec{.op = type_of(op), .name = "op", .inputs = {s.input}, .attrs = ShuffleAttrs{seeds}};
  if (op != "shuffle") spec.attrs = DrawAttrs{seeds, dtype};
  if (op == "uniform_int") {
    for (int i = 0; i < 2; ++i) {
      const Array limit = Array::scalar(next_int(line));
      const Array narrow = Array::scalar(static_cast<std::int32_t>(limit.item<std::int64_t>()));
      spec.inputs.push_back(identity(dtype == DType::int32 ? narrow : limit));
    }
  }
  s.output = s.graph->add(spec).output(0);
  s.session = std::make_unique<Session>(*s.graph);
  return s;
}

template <class T>
std::vector<T> run(Stream& s, Array input) {
  const Array out = s.session->run(s.output, {{s.input, std::move(input)}});
  return {out.flat<T>().begin(), out.flat<T>().end()};
}

/// How far the elements compared were off.
struct Tally {
  std::int64_t compared = 0, equal = 0;
  std::uint64_t worst = 0;
};

template <class T>
void compare(const std::vector<T>& expected, const std::vector<T>& actual, Tally& tally) {
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::uint64_t off = golden::ulps_apart(expected[i], actual[i]);
    ++tally.compared;
    if (off == 0) ++tally.equal;
    tally.worst = std::max(tally.worst, off);
  }
}

template <class T>
void check_run(Stream& s, const std::string& kind, std::istream& line, Tally& tally) {
  const std::int64_t step = kind == "every" ? next_int(line) : 1;
  const auto count = static_cast<std::int32_t>(next_int(line));
  const std::vector<T> out = run<T>(s, Array::of<std::int32_t>(Shape{1}, {count}));
  REQUIRE(out.size() == static_cast<std::size_t>(count));
  if (kind == "hash") {
    std::uint64_t expected = 0;
    REQUIRE(bool(line >> std::hex >> expected));
    CHECK(golden::hash(out) == expected);
    tally.compared += static_cast<std::int64_t>(out.size());
    tally.equal += static_cast<std::int64_t>(out.size());
    return;
  }
  std::vector<T> kept;
  for (std::size_t i = 0; i < out.size(); i += static_cast<std::size_t>(step))
    kept.push_back(out[i]);
  compare(golden::read_bits<T>(line), kept, tally);
}

/// Replays a file of streams and returns how its numbers agree, for `dtype` alone.
Tally replay(const std::string& file, const std::string& dtype) {
  Tally tally;
  Stream stream;
  for (auto& line : golden::lines(file)) {
    const std::string kind = next_word(line);
    if (kind == "stream")
      stream = open_stream(line);
    else if (stream.dtype != dtype)
      continue;
    else if (dtype == "float32")
      check_run<float>(stream, kind, line, tally);
    else if (dtype == "float64")
      check_run<double>(stream, kind, line, tally);
    else if (dtype == "int32")
      check_run<std::int32_t>(stream, kind, line, tally);
    else
      check_run<std::int64_t>(stream, kind, line, tally);
  }
  MESSAGE(file << " " << dtype << ": " << tally.compared << " compared, " << tally.equal
               << " equal, at worst " << tally.worst << " ulp");
  return tally;
}

template <class T>
std::vector<T> counted(std::int64_t rows, std::int64_t columns) {
  std::vector<T> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
  return values;
}

}  // namespace

TEST_CASE("uniform numbers and integers are TensorFlow's bit for bit, run after run") {
  for (const char* dtype : {"float32", "float64"}) {
    const Tally tally = replay("uniform.txt", dtype);
    CHECK(tally.compared > 20000);
    CHECK(tally.equal == tally.compared);
  }
  for (const char* dtype : {"int32", "int64"}) {
    const Tally tally = replay("uniform_int.txt", dtype);
    CHECK(tally.compared > 20000);
    CHECK(tally.equal == tally.compared);
  }
}

TEST_CASE("normals are TensorFlow's to 2 ulp, and nearly all of them exactly") {
  for (const char* file : {"normal.txt", "truncated_normal.txt"})
    for (const char* dtype : {"float32", "float64"}) {
      const Tally tally = replay(file, dtype);
      CHECK(tally.compared > 1000);
      CHECK(tally.worst <= 2);
      CHECK(tally.equal > tally.compared * 9 / 10);
    }
}

TEST_CASE("shuffles are TensorFlow's, run after run") {
  Stream stream;
  int runs = 0;
  for (auto& line : golden::lines("shuffle.txt")) {
    const std::string kind = next_word(line);
    if (kind == "stream") {
      stream = open_stream(line);
      continue;
    }
    const std::int64_t rows = next_int(line);
    const std::int64_t stated = next_int(line);
    const std::int64_t columns = stated == 0 ? 1 : std::max<std::int64_t>(stated, 0);
    const auto input = counted<std::int32_t>(rows, columns);
    const Shape shape = stated == 0 ? Shape{rows} : Shape{rows, columns};
    const auto output = run<std::int32_t>(stream, Array::of<std::int32_t>(shape, input));
    if (kind == "rowhash") {
      std::uint64_t expected = 0;
      REQUIRE(bool(line >> std::hex >> expected));
      CHECK(golden::hash(output) == expected);
    } else {
      for (std::size_t i = 0; i < output.size(); i += static_cast<std::size_t>(columns))
        CHECK(output[i] == next_int(line));
    }
    ++runs;
  }
  CHECK(runs == 65);
}

TEST_CASE("seeds of a graph and of its ops give TensorFlow's attributes and numbers") {
  std::unique_ptr<Graph> graph;
  int ops = 0;
  for (auto& line : golden::lines("seeds.txt")) {
    const std::string kind = next_word(line);
    if (kind == "graph") graph = std::make_unique<Graph>();
    const auto guard = graph->as_default();
    if (kind != "op") {
      set_random_seed(next_seed(line));
      continue;
    }
    const Tensor numbers = random_uniform({3}, {.seed = next_seed(line)});
    const random::Seeds seeds = numbers.op().attrs().as<DrawAttrs>().seeds;
    CHECK(seeds.seed == next_int(line));
    CHECK(seeds.seed2 == next_int(line));
    const auto expected = golden::read_bits<float>(line);
    if (!expected.empty()) {
      CHECK(Session(*graph).run(numbers) == Array::of<float>(Shape{3}, expected));
    }
    ++ops;
  }
  CHECK(ops == 88);
}
