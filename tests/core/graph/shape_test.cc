#include "core/graph/shape.h"

#include <doctest/doctest.h>

#include "core/graph/error.h"

using namespace towerflow;

TEST_CASE("Shape: text is TensorFlow's") {
  CHECK(Shape{}.text() == "()");
  CHECK(Shape{5}.text() == "(5,)");
  CHECK(Shape{None, 784}.text() == "(?, 784)");
  CHECK(Shape::unknown().text() == "<unknown>");
}

TEST_CASE("Shape: elements") {
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{3, 0, 2}.elements() == 0);
  CHECK(Shape{None, 2}.elements() == -1);
  CHECK(Shape::unknown().elements() == -1);
}

TEST_CASE("Shape: more elements than 64 bits count, also beside a size of 0") {
  const std::int64_t large = std::int64_t{1} << 32;
  CHECK_THROWS_AS((Shape{large, large}.elements()), ValueError);
  CHECK_THROWS_AS((Shape{large, large, 0}.elements()), ValueError);
  CHECK_THROWS_AS((Shape{0, large, large}.elements()), ValueError);
  CHECK(Shape{None, large, large}.elements() == -1);
  CHECK(Shape{large, large, None}.elements() == -1);
  CHECK(Shape{large, large / 2 - 1, 1}.elements() == large * (large / 2 - 1));
}

TEST_CASE("Shape: merging keeps what either knows") {
  CHECK(Shape{None, 3}.merged(Shape{2, None}) == Shape{2, 3});
  CHECK(Shape::unknown().merged(Shape{2}) == Shape{2});
  CHECK_FALSE(Shape{2}.merged(Shape{3}).has_value());
  CHECK_FALSE(Shape{2}.merged(Shape{2, 1}).has_value());
}

TEST_CASE("Shape: broadcast") {
  CHECK(broadcast_shapes(Shape{4, 1}, Shape{3}) == Shape{4, 3});
  CHECK(broadcast_shapes(Shape{None, 1}, Shape{2, 5}) == Shape{2, 5});
  CHECK(broadcast_shapes(Shape{None}, Shape{None}) == Shape{None});
  CHECK_FALSE(broadcast_shapes(Shape{2}, Shape{3}).has_value());
}

TEST_CASE("normalized_axis: negative axes count from the end") {
  CHECK(normalized_axis(-1, 3) == 2);
  CHECK(normalized_axis(0, 1) == 0);
  CHECK_FALSE(normalized_axis(1, 1).has_value());
  CHECK_FALSE(normalized_axis(-2, 1).has_value());
}
