// The positions of a training as bytes: what one process stores for another.
#include "train/input/training_positions.h"

#include <doctest/doctest.h>

#include "tests/data/input/support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Draws two numbers, from the start or from packed positions, which are replaced by the new ones.
std::vector<float> draw(std::string& packed) {
  Graph graph;
  const auto as_default = graph.as_default();
  tf::set_random_seed(7);
  const Tensor drawn = tf::random_normal({2}, {.name = "noise"});
  const auto positions = train::training_positions();
  REQUIRE(positions.size() == 1);
  Session session;
  if (!packed.empty()) {
    session.run(train::set_positions(positions, train::unpack_values(packed)));
  }
  const Array values = session.run(drawn);
  packed = train::pack_values(train::values_of(session, positions));
  return {values.data<float>(), values.data<float>() + 2};
}

TEST_CASE("positions that go on from bytes are those of one session") {
  std::string packed;
  const auto first = draw(packed), second = draw(packed);
  Graph graph;
  const auto as_default = graph.as_default();
  tf::set_random_seed(7);
  const Tensor drawn = tf::random_normal({2}, {.name = "noise"});
  Session session;
  for (const auto& expected : {first, second}) {
    const Array values = session.run(drawn);
    CHECK(std::vector<float>{values.data<float>(), values.data<float>() + 2} == expected);
  }
}

TEST_CASE("values have the same bytes again, texts that are not UTF-8 too") {
  Array texts(DType::string, Shape{2});
  texts.data<std::string>()[0] = std::string("\xff\0", 2);
  const train::NamedValues values{{"a/records", texts},
                                  {"a/taken", Array::scalar(std::int64_t{-3})},
                                  {"b/records", Array(DType::string, Shape{0})}};
  const std::string packed = train::pack_values(values);
  const train::NamedValues unpacked = train::unpack_values(packed);
  CHECK(unpacked == values);
  CHECK(train::pack_values(unpacked) == packed);
  CHECK_THROWS_AS(train::unpack_values("positions"), errors::DataLossError);
}

TEST_CASE("a position that is missing or of another kind is named") {
  Graph graph;
  const auto as_default = graph.as_default();
  tf::random_normal({2}, {.seed = 1, .name = "noise"});
  const auto positions = train::training_positions();
  CHECK_THROWS_WITH_AS(train::set_positions(positions, {}),
                       doctest::Contains("no value for '_random/noise/RandomStandardNormal/taken'"),
                       errors::DataLossError);
  const train::NamedValues wrong{
      {"_random/noise/RandomStandardNormal/taken", Array::scalar(std::string("3"))}};
  CHECK_THROWS_WITH_AS(train::set_positions(positions, wrong), doctest::Contains("not int64 ()"),
                       errors::DataLossError);
}

}  // namespace
