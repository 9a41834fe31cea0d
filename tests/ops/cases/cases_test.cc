// Checks that apply to every case of the table, and that the table covers all ops.
//
// TOWERFLOW_TEST_DEVICE names the device that sessions and kernels run on; the default is
// "/device:CPU:0". TOWERFLOW_TEST_CASE limits the checks to cases whose names start with it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/device/cpu/cpu_backend.h"
#include "core/graph/gradient_registry.h"
#include "ops/math/binary.h"
#include "ops/simd/loops.h"
#include "tests/ops/cases/check.h"

using namespace towerflow;
using testing::CaseReport;
using testing::device_under_test;
using testing::OpCase;

namespace {

bool is_filtered() { return !testing::cases_under_test().empty(); }

/// Returns the cases selected by TOWERFLOW_TEST_CASE.
std::vector<const OpCase*> chosen_cases() {
  const std::string only = testing::cases_under_test();
  std::vector<const OpCase*> chosen;
  for (const OpCase& one : testing::op_cases()) {
    if (one.name.starts_with(only)) chosen.push_back(&one);
  }
  return chosen;
}

/// Returns the reports of these cases on the device under test. They are made once.
const std::map<std::string, CaseReport>& reports() {
  static const std::map<std::string, CaseReport> all = [] {
    std::map<std::string, CaseReport> made;
    for (const OpCase* one : chosen_cases()) {
      try {
        made[one->name] = testing::check_case(*one, device_under_test());
      } catch (const std::exception& error) {
        made[one->name].problems = {error.what()};
      }
    }
    return made;
  }();
  return all;
}

bool has_checked_gradients(const OpCase& one) {
  return testing::has_float64(one) && testing::has_gradients(one);
}

/// Registers a gradient of `op` that is 0.1 % too large. Returns the name under which it is found.
std::string register_enlarged_gradient(const OpDef& op) {
  const std::string name = "Enlarged" + op.name;
  if (GradientRegistry::global().find(name) != nullptr) return name;
  const GradientRule rule = std::get<GradientRule>(op.gradient);
  const RegisterGradient registered(
      name, [rule](const Operation& node, const std::vector<OptionalGradient>& dys) {
        std::vector<OptionalGradient> found = rule(node, dys);
        for (OptionalGradient& one : found) {
          if (one)
            one = one->mapped([](const Tensor& t) {
              const bool floating = t.dtype() == DType::float32 || t.dtype() == DType::float64;
              return floating ? multiply(t, 1.001) : t;
            });
        }
        return found;
      });
  return name;
}

/// Returns whether an op exchanges gradients between accelerators or processes: tests/parallel runs
/// these.
bool is_between_devices(const std::string& op) {
  return op == "_AllReduce" || op == "_Regroup" || op.starts_with("_Process");
}

}  // namespace

TEST_CASE("every case: kernels between guards, float32 against float64, a session") {
  int in_place = 0;
  for (const auto& report : reports()) {
    const std::string& name = report.first;
    CAPTURE(name);
    const auto& problems = report.second.problems;
    CHECK_MESSAGE(problems.empty(), fmt::format("{}", fmt::join(problems, "\n")));
    in_place += report.second.in_place;
  }
  MESSAGE(in_place << " launches with a result in the memory of an operand");
  CHECK((in_place > 0 || is_filtered()));
  CHECK_FALSE(reports().empty());
}

TEST_CASE("every case: first and second gradients under random cotangents") {
  int checked = 0;
  for (const OpCase* one : chosen_cases()) {
    if (!has_checked_gradients(*one)) continue;
    CAPTURE(one->name);
    CHECK(testing::check_gradients(*one) == "");
    ++checked;
  }
  CHECK((checked > 0 || is_filtered()));
}

/// Returns whether an op makes branches and loops, or serves them: tests/control has programs of
/// it.
static bool is_control_flow(const std::string& op) {
  static const std::set<std::string> names{
      "Switch",           "RefSwitch",  "Merge",         "RefMerge", "Enter",
      "RefEnter",         "Exit",       "RefExit",       "_AnyOf",   "NextIteration",
      "RefNextIteration", "LoopCond",   "_Pred",         "StackV2",  "StackPushV2",
      "_StackPush",       "StackPopV2", "ControlTrigger"};
  return names.contains(op) || op.starts_with("TensorArray");
}

TEST_CASE("every op and every kernel has a case") {
  if (is_filtered()) return;
  std::set<std::string> names, ops, kernels;
  for (const OpCase& one : testing::op_cases()) CHECK(names.insert(one.name).second);
  for (const auto& report : reports()) {
    ops.insert(report.second.ops.begin(), report.second.ops.end());
    kernels.insert(report.second.kernels.begin(), report.second.kernels.end());
  }
  // An accelerator offers at most one kernel per op and lacks some, so only CPUs must cover all.
  if (device_under_test().find("CPU") == std::string::npos) return;
  std::set<std::string> stateful;  // their kernels run only in sessions
  for (const OpDef* op : OpRegistry::global().all()) {
    if (op->effect == Effect::stateful || op->effect == Effect::io) stateful.insert(op->name);
    if (op->name.starts_with("_Dataset")) continue;  // never run, or only in a dataset's function
    if (is_between_devices(op->name)) continue;
    if (is_control_flow(op->name)) continue;
    CHECK_MESSAGE(ops.contains(op->name), op->name << " has no case: add one to tests/ops/cases");
  }
  for (const auto& of_op : cpu_kernels().entries()) {
    if (stateful.contains(of_op.first) || is_control_flow(of_op.first)) continue;
    if (is_between_devices(of_op.first)) continue;
    for (const KernelEntry& entry : of_op.second) {
      const std::string kernel = of_op.first + ": " + entry.label;
      // This processor has no such loops.
      if (entry.label == "winograd" && !simd::loops().winograd.present) continue;
      CHECK_MESSAGE(kernels.contains(kernel), kernel << " has run in no case");
    }
  }
}

TEST_CASE("a gradient that is a thousandth off is seen, whatever op it is of") {
  std::set<std::string> seen, all;
  for (const OpCase* one : chosen_cases()) {
    if (!has_checked_gradients(*one)) continue;
    const auto report = reports().find(one->name);
    for (const std::string& name : report->second.ops) {
      const OpDef* op = OpRegistry::global().find(name);
      if (op == nullptr || !std::holds_alternative<GradientRule>(op->gradient)) continue;
      all.insert(name);
      if (seen.contains(name)) continue;
      if (!testing::check_gradients(*one, {{name, register_enlarged_gradient(*op)}}).empty())
        seen.insert(name);
    }
  }
  all.erase("Sign");  // its gradient is zero, also when enlarged
  std::erase_if(all, is_control_flow);
  for (const std::string& name : all) CHECK_MESSAGE(seen.contains(name), name);
}
