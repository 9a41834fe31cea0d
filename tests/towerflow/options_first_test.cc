#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "tests/data/support.h"
#include "tests/towerflow/options_first.h"

// Options in braces are taken as options, whichever parameters before them a call omits, or the
// call does not compile: see core/graph/arguments.h.
namespace towerflow::options_first {

Variable renaming(const VariableGetter& getter, const std::string& name,
                  const std::optional<Shape>& shape, const GetVariableOptions& options) {
  return getter(name + "_renamed", shape, options);
}

namespace {

/// The nodes and files that a call made in its graph and folder.
struct Outcome {
  testing::ScratchFolder folder;
  CallArguments given;
  std::string text;

  explicit Outcome(void (*call)(const CallArguments&)) {
    given.folder = folder.path();
    try {
      call(given);
    } catch (const ValueError& error) {
      text = "raised: " + error.message() + "\n";
    }
    const GraphDescription description(given.graph);
    for (const OpDescription& op : description.ops()) {
      text += fmt::format("{} {} {} {} {} {} {} {}\n", op.name, op.type, op.variable_scope,
                          op.device, op.outputs, op.inputs, op.controls, op.collections);
    }
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      text += fmt::format("{}: {}\n", file.path().filename().string(), testing::read_raw(file));
    }
  }
};

/// Counts which calls compile and compares that with which should.
struct Counts {
  int compile = 0, refused = 0, compiles_wrongly = 0, missing = 0;

  explicit Counts(std::span<const Case> cases) {
    for (const Case& c : cases) {
      CHECK_MESSAGE(c.compiles == c.should_compile, c.text);
      if (c.compiles)
        ++(c.should_compile ? compile : compiles_wrongly);
      else
        ++(c.should_compile ? missing : refused);
    }
  }
};

TEST_CASE("options directly after each number of arguments") {
  const Counts calls(all_calls());
  MESSAGE(kFunctions.tried, " functions: ", calls.compile, " calls compile, ", calls.refused,
          " are refused, ", calls.compiles_wrongly, " compile and mean nothing, ", calls.missing,
          " should compile. Not tried: ", kFunctions.without_options,
          " functions without options, ", kFunctions.own, " that the library alone calls, ",
          kFunctions.of_arrays, " of arrays");
  CHECK(kFunctions.tried > 200);
  CHECK(calls.compile > 300);
  CHECK(calls.refused > 500);
}

TEST_CASE("a list in the place of a parameter is not taken for options") {
  const Counts lists(all_lists());
  MESSAGE(lists.refused, " lists are refused");
  CHECK(lists.refused > 100);
}

TEST_CASE("a call that leaves parameters out does what the one does that says all") {
  int raised = 0;
  for (const Run& run : all_runs()) {
    CAPTURE(std::string(run.text));
    const Outcome shorter(run.shorter), whole(run.whole);
    CHECK(shorter.text == whole.text);
    raised += shorter.text.starts_with("raised: ");
    const auto ops = shorter.given.graph.get_operations();
    const auto other_ops = whole.given.graph.get_operations();
    REQUIRE(ops.size() == other_ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) CHECK(ops[i].attrs() == other_ops[i].attrs());
  }
  MESSAGE(all_runs().size(), " calls compared");
  CHECK(raised == 2);  // by a partitioner without a shape, as in TensorFlow
  CHECK(all_runs().size() > 80);
}

template <class X>
constexpr bool kListOfOneIsAnAxis = requires(X x) {
  concat({x}, {0});
}
|| requires(X x) { split(x, 2, {0}); }
|| requires(X x) { cumsum(x, {0}); }
|| requires(X x) { argmax(x, {0}); }
|| requires(X x) { argmin(x, {0}); }
|| requires(X x) { one_hot(x, {3}); };

TEST_CASE("a list of one is no axis where TensorFlow wants a scalar") {
  CHECK_FALSE(kListOfOneIsAnAxis<Tensor>);
}

}  // namespace
}  // namespace towerflow::options_first
