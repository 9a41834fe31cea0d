// Functions that derive from the list of fields of an attribute struct.
#include "core/graph/attrs.h"

#include <doctest/doctest.h>

#include <limits>

#include "core/graph/node_attrs.h"
#include "tests/support/error_text.h"

namespace towerflow {
namespace {

enum class Mode { slow, fast };

struct Inner {
  std::int64_t seed = 0;
  static constexpr auto fields = std::tuple{attr::field("seed", &Inner::seed)};
};

struct TestAttrs {
  bool flag = false;
  int count = 3;
  float rate = 0.1F;
  Mode mode = Mode::slow;
  DType dtype = DType::float32;
  Shape shape = Shape::unknown();
  std::vector<Shape> shapes;
  std::array<int, 2> pair{1, 1};
  Array value;
  Inner inner{};
  std::string node;
  int unlisted = 0;
  static constexpr auto fields = std::tuple{
      attr::field("flag", &TestAttrs::flag),     attr::required("count", &TestAttrs::count),
      attr::field("rate", &TestAttrs::rate),     attr::field("mode", &TestAttrs::mode),
      attr::field("dtype", &TestAttrs::dtype),   attr::field("shape", &TestAttrs::shape),
      attr::field("shapes", &TestAttrs::shapes), attr::field("pair", &TestAttrs::pair),
      attr::field("value", &TestAttrs::value),   attr::included(&TestAttrs::inner),
      attr::own_name("_node", &TestAttrs::node)};
};

struct OtherAttrs {
  bool flag = false;
  static constexpr auto fields = std::tuple{attr::field("flag", &OtherAttrs::flag)};
};

OpDef test_op(AttrsDef attrs) {
  OpDef op{.name = "Test", .shape = {}, .gradient = NoGradient{""}};
  op.attrs = std::move(attrs);
  return op;
}

}  // namespace

template <>
inline constexpr std::array<const char*, 2> kAttrNames<Mode>{"SLOW", "FAST"};

TEST_CASE("attributes: equality and hash ask every listed field, and no other") {
  const TestAttrs plain;
  const auto changed = [&](auto change) {
    TestAttrs other = plain;
    change(other);
    return Attrs(other);
  };
  const Attrs others[] = {
      changed([](TestAttrs& a) { a.flag = true; }),
      changed([](TestAttrs& a) { a.count = 4; }),
      changed([](TestAttrs& a) { a.rate = 0.2F; }),
      changed([](TestAttrs& a) { a.mode = Mode::fast; }),
      changed([](TestAttrs& a) { a.dtype = DType::int8; }),
      changed([](TestAttrs& a) { a.shape = Shape{}; }),
      changed([](TestAttrs& a) { a.shapes = {Shape{}}; }),
      changed([](TestAttrs& a) {
        a.pair = {1, 2};
      }),
      changed([](TestAttrs& a) { a.value = Array::scalar(1.0F); }),
      changed([](TestAttrs& a) { a.inner.seed = 1; }),
      changed([](TestAttrs& a) { a.node = "x"; }),
  };
  for (const Attrs& other : others) {
    CAPTURE(other.text());
    CHECK(other != Attrs(plain));
    CHECK(other.hash() != Attrs(plain).hash());
    CHECK(other.text() != Attrs(plain).text());
  }
  const Attrs same = changed([](TestAttrs& a) { a.unlisted = 1; });
  CHECK(same == Attrs(plain));
  CHECK(same.hash() == Attrs(plain).hash());
  CHECK(Attrs(OtherAttrs{}) != Attrs(plain));
  CHECK(Attrs(OtherAttrs{}) != Attrs());
  CHECK(Attrs() == Attrs());
}

TEST_CASE("attributes: the text, in which numbers are read back as they were") {
  TestAttrs attrs;
  attrs.rate = std::numeric_limits<float>::denorm_min();
  attrs.shapes = {Shape{2, None}, Shape{}};
  attrs.value = Array::of<std::int64_t>(Shape{2}, std::vector<std::int64_t>{1, -2});
  CHECK(Attrs(attrs).text() ==
        "{flag=false, count=3, rate=1e-45, mode=\"SLOW\", dtype=float32, shape=<unknown>, "
        "shapes=[(2, ?), ()], pair=[1, 1], value=int64 (2,) [1, -2], seed=0, _node=\"\"}");
  CHECK(std::stof(attr_text(0.1F)) == 0.1F);
  CHECK(attr_text(std::string("a\"b\n")) == R"("a\"b\n")");
  CHECK(Attrs().text() == "{}");
  CHECK(std::string(attr_type(std::vector{DType::int8})) == "list(type)");
}

TEST_CASE("attributes: values and back") {
  const OpDef op = test_op(attributes<TestAttrs>());
  TestAttrs attrs;
  attrs.count = 7;
  attrs.mode = Mode::fast;
  attrs.shapes = {Shape{2, None}};
  attrs.value = Array::scalar(2.5);
  attrs.inner.seed = 5;
  attrs.node = "scope/it";
  AttrMap values;
  Attrs(attrs).for_each([&](const char* name, AttrValue value) { values.emplace(name, value); });
  CHECK(values.at("mode") == AttrValue("FAST"));
  CHECK(values.at("pair") == AttrValue(std::vector<std::int64_t>{1, 1}));
  CHECK(values.at("seed") == AttrValue(5));
  CHECK(parse_attributes(op, values, "scope/it", {}) == Attrs(attrs));
  // The name is that of the node, even if the values have another one.
  CHECK(parse_attributes(op, values, "other", {}).as<TestAttrs>().node == "other");
  // Missing attributes get their defaults. An empty list has no element type of its own.
  const AttrMap few{{"count", 1}, {"shapes", std::vector<std::int64_t>{}}, {"_of_a_tool", 1}};
  CHECK(parse_attributes(op, few, "", {}) == Attrs([] {
          TestAttrs one;
          one.count = 1;
          return one;
        }()));
}

TEST_CASE("attributes: what does not fit is named") {
  const OpDef op = test_op(attributes<TestAttrs>().fixed("always", true));
  const auto error = [&](AttrMap values, bool with_count = true) {
    if (with_count) values.emplace("count", 1);
    return testing::error_text([&] { parse_attributes(op, values, "n", {}); });
  };
  CHECK_SAYS(error({}, false), "ValueError: attribute 'count' of op 'Test' is missing",
             "node: n (Test)");
  CHECK_SAYS(error({{"speed", 1}}), "ValueError: op 'Test' has no attribute 'speed'");
  CHECK_SAYS(error({{"rate", 1}}),
             "attribute 'rate' of op 'Test' cannot be int 1: it is of type float");
  CHECK_SAYS(error({{"mode", "FASTER"}}), "attribute 'mode' of op 'Test' cannot be string");
  CHECK_SAYS(error({{"pair", std::vector<std::int64_t>{1}}}), "cannot be list(int) [1]");
  CHECK_SAYS(error({{"count", std::int64_t{1} << 40}}, false), "'count'", "1099511627776");
  CHECK_SAYS(error({{"always", false}}),
             "UnimplementedError: attribute 'always' of op 'Test' is false, but the library "
             "supports only true");
  CHECK(error({{"always", true}}) == "nothing was thrown");
}

TEST_CASE("attributes: an op may name, leave out and set what its struct holds") {
  const OpDef op = test_op(
      attributes<TestAttrs>().without("rate").renamed("dtype", "Tout").defaults_to("flag", true));
  CHECK(op.attrs.find("dtype") == nullptr);
  CHECK(op.attrs.find("rate") == nullptr);
  CHECK(op.attrs.find_field("dtype")->name == "Tout");
  const Attrs made = parse_attributes(op, {{"count", 1}, {"Tout", DType::int8}}, "", {});
  CHECK(made.as<TestAttrs>().dtype == DType::int8);
  CHECK(made.as<TestAttrs>().flag);
  CHECK_SAYS(testing::error_text([&] {
               parse_attributes(op, {{"count", 1}, {"rate", 1.0F}}, "", {});
             }),
             "op 'Test' has no attribute 'rate'");
}

}  // namespace towerflow
