#include "tests/ops/cases/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/device/backend_registry.h"
#include "core/graph/scopes.h"
#include "ops/array/constant.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "tests/ops/cases/build_case.h"
#include "tests/ops/cases/plan_case.h"
#include "tests/ops/cases/walk.h"
#include "tests/support/cuda_devices.h"
#include "tests/support/grad_check.h"

namespace towerflow::testing {
namespace {

bool is_random(const std::set<std::string>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const std::string& name) {
    const OpDef* op = OpRegistry::global().find(name);
    return op != nullptr && op->effect == Effect::random;
  });
}

/// Returns whether kernels can be launched one by one. Effects of queues and files need a session.
bool can_launch_kernels(const PlanGraph& graph) {
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const PlanNode& node) {
    return node.op->effect == Effect::stateful || node.op->effect == Effect::io;
  });
}

class Checker {
 public:
  Checker(const OpCase& one, const std::string& device)
      : case_(one),
        device_(device),
        on_accelerator_(device.find("CPU") == std::string::npos),
        config_(device_config(device)),
        devices_(make_backends(config_)) {}

  CaseReport run() {
    for (const DType dtype : case_.dtypes) check(dtype);
    return std::move(report_);
  }

 private:
  void check(DType dtype) {
    dtype_ = dtype;
    tolerance_ = dtype == DType::float32 ? case_.tolerance : 1e-10;
    const std::vector<Array> arrays = case_arrays(case_.inputs, dtype);
    const std::vector<Array> expected = run_kernels(arrays, false);
    if (!expected.empty() && !is_random(report_.ops)) {
      if (dtype == DType::float32 && has_float64(case_)) {
        compare(expected, reference_values(DType::float64), "the reference in float64", tolerance_);
      } else if (on_accelerator_) {
        // Results may be float32, whatever the case's dtype.
        const double tolerance = dtype == DType::float64 ? tolerance_ : case_.tolerance;
        compare(expected, reference_values(dtype), "the CPU", tolerance);
      }
    }
    const std::vector<Array> known = run_session(arrays, false);
    if (!expected.empty() && !is_random(report_.ops)) {
      compare(known, expected, "a session, against kernels one by one", tolerance_);
    }
    compare_unknown(arrays, known);
    if (case_.gradients == CaseGradients::none) expect_no_gradients();
  }

  void expect_no_gradients() {
    const BuiltCase built(case_, {.dtype = dtype_, .unwanted_gradients = true});
    const auto& found = built.has_gradient();
    if (std::find(found.begin(), found.end(), true) != found.end()) {
      problem("it has a gradient, though the case says that there is none");
    }
  }

  /// Runs every kernel of the case in guarded memory, on the nodes as recorded and as rewritten.
  /// Returns the values of the former.
  std::vector<Array> run_kernels(const std::vector<Array>& arrays, bool unknown) {
    BuiltCase built(case_, {.dtype = dtype_, .device = device_, .unknown_shapes = unknown});
    PlanGraph graph = plan_case(built, arrays);
    if (!can_launch_kernels(graph)) {
      for (const PlanNode& node : graph.nodes) report_.ops.insert(node.op->name);
      return {};
    }
    place_case(graph, built, devices_);
    PlanGraph rewritten = rewrite_case(graph, devices_);
    const WalkResult plain =
        run_nodes(std::move(graph), arrays, devices_, WalkKernels::all, case_.tolerance);
    take(plain);
    const WalkResult fused =
        run_nodes(std::move(rewritten), arrays, devices_, WalkKernels::all, case_.tolerance);
    take(fused);
    std::vector<Array> values = plain.values;
    values.resize(built.tensors().size());
    if (!is_random(report_.ops)) compare(fused.values, values, "rewritten nodes", tolerance_);
    return values;
  }

  void take(const WalkResult& found) {
    report_.ops.insert(found.ops.begin(), found.ops.end());
    report_.kernels.insert(found.kernels.begin(), found.kernels.end());
    report_.in_place += found.in_place;
    for (const std::string& text : found.problems) problem(text);
  }

  /// Returns the values of the CPU's reference kernels.
  std::vector<Array> reference_values(DType dtype) {
    const std::vector<Array> arrays = case_arrays(case_.inputs, dtype);
    BuiltCase built(case_, {.dtype = dtype});
    std::vector<Array> values =
        run_nodes(plan_case(built, arrays), arrays, devices_, WalkKernels::reference, 0).values;
    values.resize(built.tensors().size());
    return values;
  }

  std::vector<Array> run_session(const std::vector<Array>& arrays, bool unknown) {
    BuiltCase built(case_, {.dtype = dtype_, .device = device_, .unknown_shapes = unknown});
    Session session(built.graph(), config_);
    const std::vector<Fetch> before = built.initializers();
    if (!before.empty()) session.run(before);
    const std::vector<Fetch> fetches(built.tensors().begin(), built.tensors().end());
    return session.run(fetches, built.feeds(arrays));
  }

  /// Compares with a session on operands whose sizes only the plan knows, not the graph.
  void compare_unknown(const std::vector<Array>& arrays, const std::vector<Array>& known) {
    if (case_.inputs.empty()) return;
    std::vector<Array> found;
    try {
      found = run_session(arrays, true);
      run_kernels(arrays, true);  // gradients use other ops there
    } catch (const ValueError& error) {
      if (!case_.needs_sizes) problem(fmt::format("with unknown sizes: {}", error.what()));
      return;
    }
    if (case_.needs_sizes) problem("it needs no sizes, though the case says so");
    // Cotangents differ for unknown shapes, so only results are compared.
    const std::size_t results = BuiltCase(case_, {.dtype = dtype_}).results().size();
    compare({found.begin(), found.begin() + static_cast<std::ptrdiff_t>(results)},
            {known.begin(), known.begin() + static_cast<std::ptrdiff_t>(results)},
            "with unknown sizes", tolerance_);
  }

  void compare(const std::vector<Array>& found, const std::vector<Array>& expected,
               const char* what, double tolerance) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool exact =
          expected[i].dtype() != DType::float32 && expected[i].dtype() != DType::float64;
      const double off = difference(found.at(i), expected[i]);
      if (off <= (exact ? 0 : tolerance)) continue;
      problem(fmt::format("{}: value {} is off by {:g}: {} for {}", what, i, off, found[i].text(),
                          expected[i].text()));
    }
  }

  void problem(const std::string& text) {
    report_.problems.push_back(fmt::format("{} ({}): {}", case_.name, dtype_name(dtype_), text));
  }

  const OpCase& case_;
  const std::string device_;
  const bool on_accelerator_;
  const ConfigProto config_;
  const DeviceSet devices_;
  DType dtype_ = DType::invalid;
  double tolerance_ = 0;
  CaseReport report_;
};

/// Returns the case as a function of the operands that have a gradient. Several floating-point
/// results are combined into a weighted sum.
Function function_of(const OpCase& one, const std::vector<bool>& varied) {
  return [&one, varied](const std::vector<Tensor>& xs) {
    std::vector<Tensor> all;
    const std::vector<Array> arrays = case_arrays(one.inputs, DType::float64);
    for (std::size_t i = 0, next = 0; i < arrays.size(); ++i) {
      all.push_back(varied[i] ? xs[next++] : constant(arrays[i]));
    }
    const CaseResults results = one.call(case_tensors(std::move(all), DType::float64));
    std::vector<Tensor> floating;
    for (const Tensor& result : results) {
      if (result.dtype() == DType::float64) floating.push_back(result);
    }
    if (floating.size() == 1) return floating[0];
    std::vector<Tensor> sums;
    for (std::size_t i = 0; i < floating.size(); ++i) {
      sums.push_back(reduce_sum(floating[i] * (0.5 + static_cast<double>(i))));
    }
    return add_n(sums);
  };
}

}  // namespace

CaseReport check_case(const OpCase& one, const std::string& device) {
  return Checker(one, device).run();
}

std::string check_gradients(const OpCase& one,
                            const std::map<std::string, std::string>& overrides) {
  std::vector<bool> varied;
  {
    BuiltCase built(one, {});
    varied = built.has_gradient();
  }
  std::vector<Array> xs;
  const std::vector<Array> arrays = case_arrays(one.inputs, DType::float64);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (varied[i]) xs.push_back(arrays[i]);
  }
  if (xs.empty()) return "no operand has a gradient";
  const Function plain = function_of(one, varied);
  const auto overridden = [&overrides](const Function& function) -> Function {
    return [&overrides, function](const std::vector<Tensor>& in) {
      const auto map = get_default_graph().gradient_override_map(overrides);
      return function(in);
    };
  };
  std::vector<std::pair<std::string, Function>> functions{{"first", overridden(plain)}};
  if (one.gradients == CaseGradients::both) {
    const Function bent = [plain](const std::vector<Tensor>& in) {
      const Tensor y = plain(in);
      return y * (y + 1.0);  // gives linear ops a second derivative, too
    };
    functions.emplace_back("second", overridden(weighted_gradients(bent, xs, 1)));
  }
  for (const auto& named : functions) {
    for (const bool unknown : {false, true}) {
      if (unknown && one.needs_sizes) continue;
      const std::string wrong =
          grad_check(named.second, xs, {.step = one.step, .unknown_shapes = unknown});
      if (!wrong.empty()) {
        return fmt::format("{} gradient, sizes {}: {}", named.first, unknown ? "unknown" : "known",
                           wrong);
      }
    }
  }
  return "";
}

std::string device_under_test() {
  const char* device = std::getenv("TOWERFLOW_TEST_DEVICE");
  return device == nullptr ? "/device:CPU:0" : device;
}

std::string cases_under_test() {
  const char* names = std::getenv("TOWERFLOW_TEST_CASE");
  return names == nullptr ? "" : names;
}

ConfigProto device_config(const std::string& device) {
  ConfigProto config{.allow_soft_placement = true};
  if (device.find("SIM") != std::string::npos) {
    config.simulated.count = 1;
    config.simulated.latency = 0;
  }
  if (device.find("GPU") != std::string::npos) config.cuda = cuda_devices(1);
  return config;
}

}  // namespace towerflow::testing
