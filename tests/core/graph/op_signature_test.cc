// Arguments that an OpDef declares, and the dtypes and counts that follow from the inputs.
#include "core/graph/op_signature.h"

#include <doctest/doctest.h>

#include "core/graph/error.h"
#include "core/graph/op_def.h"
#include "tests/support/error_text.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

std::vector<ArgDef> read(const std::vector<std::string>& texts) {
  std::vector<ArgDef> arguments;
  for (const std::string& text : texts) arguments.push_back(parse_argument("Test", text));
  return arguments;
}

std::vector<OutputSpec> tensors(const std::vector<DType>& dtypes) {
  std::vector<OutputSpec> specs;
  for (const DType dtype : dtypes) specs.push_back({dtype, Shape{}});
  return specs;
}

AttrMap match(const std::vector<std::string>& texts, const std::vector<DType>& dtypes,
              AttrMap known = {}) {
  match_arguments(read(texts), tensors(dtypes), known);
  return known;
}

}  // namespace

TEST_CASE("signature: arguments are read and written") {
  for (const std::string text : {"x: T", "axis: int32", "values: N * T", "ref: Ref(T)",
                                 "slots: N * Ref(T)", "files: N * string", "data: list(T)"}) {
    CAPTURE(text);
    CHECK(parse_argument("Test", text).text() == text);
  }
  const ArgDef slots = parse_argument("Test", "slots: N * Ref(T)");
  CHECK(slots.name == "slots");
  CHECK(slots.number_attr == "N");
  CHECK(slots.type_attr == "T");
  CHECK(slots.is_ref);
  CHECK(parse_argument("Test", "axis: int32").dtype == DType::int32);
  CHECK(parse_argument("Test", "axis: Index(Tidx)").type_attr == "Tidx");
  CHECK(parse_argument("Test", "axis: Index(Tidx)").text() == "axis: Tidx");
  CHECK(parse_argument("Test", "h: resource").dtype == DType::resource);
}

TEST_CASE("signature: what cannot be read is an error when the op is registered") {
  OpRegistry registry;
  for (const std::string text :
       {"", "x", "x:T", "x: ", ": T", "x: N*T", "x: * T", "x: N * ", "x: Ref(T", "x: Ref()",
        "x: list()", "x: N * list(T)", "x: Ref(list(T))", "x: Index(int32)", "1x: T", "x: 1T",
        "x y: T", "x: T U"}) {
    CAPTURE(text);
    const auto add = [&] {
      registry.add({.name = "Test", .inputs = {text}, .shape = {}, .gradient = NoGradient{""}});
    };
    CHECK(error_text(add).find("ValueError: op 'Test' has an argument \"" + text + "\"") == 0);
    CHECK(registry.find("Test") == nullptr);
  }
}

TEST_CASE("signature: dtypes and numbers come from the tensors") {
  CHECK(match({"x: T", "axis: Tidx"}, {DType::float32, DType::int64}) ==
        AttrMap{{"T", DType::float32}, {"Tidx", DType::int64}});
  CHECK(match({"x: T", "axis: Index(Tidx)"}, {DType::float32, DType::int32}) ==
        AttrMap{{"T", DType::float32}, {"Tidx", DType::int32}});
  CHECK(match({"values: N * T", "axis: int32"}, {DType::int8, DType::int8, DType::int32}) ==
        AttrMap{{"N", 2}, {"T", DType::int8}});
  CHECK(match({"handle: resource", "components: list(Ts)"},
              {DType::resource, DType::bool_, DType::string}) ==
        AttrMap{{"Ts", std::vector{DType::bool_, DType::string}}});
  // Two lists of the same length, and one whose length is given by its attribute.
  CHECK(match({"i: N * int64", "values: list(Ts)", "s: N * int64"},
              {DType::int64, DType::int64, DType::int8, DType::int64, DType::int64},
              {{"Ts", std::vector{DType::int8}}})
            .at("N") == AttrValue(2));
}

TEST_CASE("signature: tensors that do not fit are named") {
  using Texts = std::vector<std::string>;
  const auto error = [](const Texts& texts, const std::vector<DType>& dtypes, AttrMap known = {}) {
    return error_text([&] { match(texts, dtypes, known); });
  };
  CHECK(error({"x: T"}, {}) == "ValueError: 0 tensors are given where 1 are taken");
  CHECK(error({"x: T"}, {DType::int8, DType::int8}) ==
        "ValueError: 2 tensors are given where 1 are taken");
  CHECK(error({"x: N * T", "y: T"}, {}) ==
        "ValueError: 0 tensors are given where at least 1 are taken");
  CHECK(error({"x: T", "y: T"}, {DType::int8, DType::int32}) ==
        "ValueError: argument 'y: T' requires attribute 'T' to be int32, but it is int8");
  for (const DType wrong : {DType::float32, DType::string, DType::uint8, DType::resource}) {
    CHECK(
        error({"axis: Index(Tidx)"}, {wrong}) ==
        fmt::format("ValueError: Value for attr 'Tidx' of {} is not in the list of allowed values: "
                    "int32, int64",
                    dtype_name(wrong)));
  }
  CHECK(error({"x: int32"}, {DType::int8}) == "ValueError: argument 'x: int32' is int8");
  CHECK(error({"x: Ref(T)"}, {DType::int8}) ==
        "ValueError: argument 'x: Ref(T)' is not a variable");
  CHECK(error({"x: N * T"}, {DType::int8}, {{"N", 1000000000000}}) ==
        "ValueError: 1 tensors are given where 1073741824 are taken");
}
