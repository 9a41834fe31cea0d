// Every registered op that has a gradient has a second one that central differences confirm, or
// stands here with the reason why not.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "core/graph/op_def.h"
#include "tests/autodiff/gradient_cases.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::GradientCase;

namespace {

/// Ops that need no second derivative of their own.
const std::map<std::string, std::string>& exceptions() {
  static const std::map<std::string, std::string> reasons = {
      {"Sign", "its derivative is zero, and so is the next"},
      {"Cast", "float64 is all that central differences can check; its gradient is a Cast again"},
  };
  return reasons;
}

/// The ops of the function and of its gradients.
std::set<std::string> ops_of(const GradientCase& one) {
  Graph graph;
  const auto guard = graph.as_default();
  std::vector<Tensor> in;
  for (const Array& x : one.xs) in.push_back(placeholder(DType::float64, {.shape = x.shape()}));
  gradients(one.function(in), in);
  std::set<std::string> types;
  for (const Operation& op : graph.get_operations()) types.insert(op.type());
  return types;
}

}  // namespace

TEST_CASE("every op with a gradient has a right second one, or a reason") {
  const testing::GradientCases cases = testing::gradient_cases();
  int checked = 0;
  for (const OpDef* op : OpRegistry::global().all()) {
    const std::string& name = op->name;
    CAPTURE(name);
    if (const auto* none = std::get_if<NoGradient>(&op->gradient)) {
      CHECK_FALSE(none->reason.empty());
      CHECK_FALSE(cases.contains(name));
      continue;
    }
    if (exceptions().contains(name)) continue;
    REQUIRE_MESSAGE(cases.contains(name), "give it a case here, or a reason");
    const GradientCase& one = cases.at(name);
    CHECK(ops_of(one).contains(name));
    CHECK(testing::grad_check(one.function, one.xs) == "");
    CHECK(testing::second_grad_check(one.function, one.xs) == "");
    ++checked;
  }
  CHECK(checked == static_cast<int>(cases.size()));  // no case for an op that is not there
  for (const auto& exception : exceptions()) {
    CAPTURE(exception.first);
    CHECK(OpRegistry::global().find(exception.first) != nullptr);
  }
}
