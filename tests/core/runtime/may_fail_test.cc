// Which prepared kernels may fail, and the error if one fails that claims it cannot.
#include <doctest/doctest.h>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// Returns whether a launch of the op may fail. Inputs and output have this dtype and two elements.
bool may_fail(const char* op, DType dtype, std::size_t inputs) {
  const TensorDesc desc{dtype, Shape{2}};
  const Attrs none;
  const KernelRequest request{.op = &OpRegistry::global().get(op),
                              .attrs = &none,
                              .inputs = std::vector(inputs, desc),
                              .outputs = {desc}};
  return find_cpu_kernel(request)->prepare(request)->may_fail();
}

}  // namespace

TEST_CASE("a kernel that says it cannot fail and fails is an internal error") {
  const auto add = [](const char* op, bool says_so) {
    OpRegistry::global().add(
        {.name = op,
         .shape = [](InferenceContext& c) { c.add_output(c.dtype(0), c.shape(0)); },
         .gradient = NoGradient{"for tests"}});
    cpu_kernels().add(
        {.op = op, .label = "test", .accepts = {}, .prepare = [says_so](const KernelRequest&) {
           return function_kernel(
               [](const LaunchArgs&) { throw errors::OutOfRangeError("after all"); },
               {.may_fail = says_so});
         }});
  };
  add("TestSaysItMayFail", true);
  add("TestSaysItCannotFail", false);
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {2}});
  const auto failing = [&](const char* op) {
    const Operand operand(x);
    return OpBuilder(op, "", Site::current(), {&operand}).input(operand, "x").output();
  };
  const Tensor honest = failing("TestSaysItMayFail"), wrong = failing("TestSaysItCannotFail");
  Session session;
  const Feeds feeds{{x, {1.0F, 2.0F}}};
  CHECK_THROWS_AS(session.run(honest, feeds), errors::OutOfRangeError);
#ifdef TOWERFLOW_VERIFY
  CHECK_THROWS_WITH_AS(session.run(wrong, feeds), doctest::Contains("TestSaysItCannotFail"),
                       errors::InternalError);
#endif
}

TEST_CASE("whether a kernel may fail depends on what it is prepared for") {
  for (const char* op : {"RealDiv", "FloorDiv", "FloorMod", "Pow"}) {
    CAPTURE(op);
    CHECK(may_fail(op, DType::int32, 2));
    CHECK_FALSE(may_fail(op, DType::float32, 2));
    CHECK_FALSE(may_fail(op, DType::float64, 2));
  }
  CHECK_FALSE(may_fail("Mul", DType::int32, 2));
  CHECK_FALSE(may_fail("Identity", DType::int64, 1));
  CHECK(may_fail("Identity", DType::string, 1));
  CHECK_FALSE(may_fail("Assign", DType::float32, 2));
}

TEST_CASE("a division of real numbers behind the change of a variable leaves the step its commit") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v = tf::get_variable("v", {2}, {.initializer = tf::ones_initializer()});
  const Variable w = tf::get_variable("w", {2}, {.initializer = tf::zeros_initializer()});
  Tensor stored;
  {
    const auto after = tf::control_dependencies({tf::assign_add(v, tf::ones({2}))});
    stored = tf::assign(w, 1.0F / v.read_value());
  }
  Session session;
  const std::vector<Fetch> step{stored};
  CHECK(session.plan_report(step).find("commit") != std::string::npos);
}
