#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/runtime/session.h"
#include "tests/ops/cases/op_case.h"

namespace towerflow::testing {

/// The findings of the checks of a case.
struct CaseReport {
  std::set<std::string> ops;          ///< computed ops, including those of gradients and rewrites
  std::set<std::string> kernels;      ///< "Cumsum: rows" for each kernel that ran in guarded memory
  int in_place = 0;                   ///< launches with a result in the memory of an operand
  std::vector<std::string> problems;  ///< empty if there are none
};

/// Checks a case with each of its dtypes:
///   - every kernel that accepts a node of the call, of its first and second gradients, or of their
///     rewritten forms: in guarded memory and against the reference (`run_nodes`);
///   - results in float32 against the reference in float64, and on an accelerator those in other
///     dtypes against the CPU's;
///   - a session on the device against those kernels, with sizes known and unknown to the graph.
/// `device` is "/device:CPU:0" or the like. `device_config` creates accelerators.
CaseReport check_case(const OpCase& one, const std::string& device);

/// Checks first and second gradients of a case in float64 against central differences under random
/// cotangents, with sizes known and unknown. Returns what is wrong, or an empty string. Ops in
/// `overrides` use the gradient that is registered under the given name.
std::string check_gradients(const OpCase& one,
                            const std::map<std::string, std::string>& overrides = {});

/// Returns the device that $TOWERFLOW_TEST_DEVICE names, "/device:CPU:0" without it.
std::string device_under_test();
/// Returns the start of the names of the cases to check, $TOWERFLOW_TEST_CASE; "" for all.
std::string cases_under_test();

/// Returns session options that provide `device`: for SIM, a simulated accelerator, for GPU, one
/// that is emulated on the host.
ConfigProto device_config(const std::string& device);

}  // namespace towerflow::testing
