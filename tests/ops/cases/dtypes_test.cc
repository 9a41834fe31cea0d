// Imported graphs may have any dtype anywhere. Each dtype that an op and a kernel accept must run
// or raise an error, even if no case uses it.
#include <doctest/doctest.h>

#include <cstring>

#include "core/runtime/session.h"
#include "ops/array/placeholder.h"
#include "ops/variables/variable.h"
#include "tests/ops/cases/op_dtypes.h"

using namespace towerflow;

namespace {

/// Ones, or strings too long to be stored inside a std::string.
Array filled(DType dtype, const Shape& shape) {
  Array array(dtype, shape);
  dispatch_dtype(dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < array.elements(); ++i) array.data<T>()[i] = static_cast<T>(1);
  });
  if (dtype == DType::string) {
    for (std::int64_t i = 0; i < array.elements(); ++i) {
      array.data<std::string>()[i] = "a text that is too long for the inside of a string";
    }
  }
  return array;
}

/// Runs the op of a trial in a new graph. Returns false if that raises an error.
bool runs(const testing::DtypeTrial& trial) {
  Graph graph;
  const auto guard = graph.as_default();
  NodeSpec spec{.op = trial.op, .name = "y", .attrs = trial.attrs};
  Feeds feeds;
  try {
    for (const testing::DtypeTrial::Input& input : trial.inputs) {
      const Array value = input.value.empty() ? filled(input.dtype, input.shape) : input.value;
      if (input.is_ref) {
        spec.inputs.push_back(Variable(value, {.name = "v"}).ref());
      } else {
        spec.inputs.push_back(placeholder(input.dtype, {.shape = input.shape}));
        feeds.emplace_back(spec.inputs.back(), value);
      }
    }
    const Operation op = graph.add(std::move(spec));
    Session session(graph);
    session.run(global_variables_initializer());
    std::vector<Fetch> fetches{op};
    for (std::size_t i = 0; i < op.num_outputs(); ++i) fetches.emplace_back(op.output(i));
    session.run(std::span<const Fetch>(fetches), feeds);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every dtype that an op accepts runs, or is an error") {
  int tried = 0, ran = 0;
  testing::op_dtypes([&](const testing::DtypeTrial& trial) {
    CAPTURE(trial.op);
    ++tried;
    ran += runs(trial);
  });
  MESSAGE(ran << " of " << tried << " ran");
  CHECK(tried > 500);
  CHECK(ran > tried / 2);
}
