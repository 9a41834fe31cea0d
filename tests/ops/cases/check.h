#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/runtime/session.h"
#include "tests/ops/cases/op_case.h"

namespace towerflow::testing {

/// What the checks of a case have found.
struct CaseReport {
  std::set<std::string> ops;          ///< that were computed, those of gradients and plans included
  std::set<std::string> kernels;      ///< "Cumsum: rows", each that ran between guards
  int in_place = 0;                   ///< launches with a result in the memory of an operand
  std::vector<std::string> problems;  ///< empty when all is right
};

/// Checks a case with each of its dtypes:
///   - every kernel that takes a node of the call, of its first and second gradients, and of what
///     rewrites make of them, between guards and against the reference (`run_nodes`);
///   - results in float32 against the reference in float64;
///   - a session on the device against that, with sizes known and unknown when it plans.
/// `device` is "/device:CPU:0" or the like; accelerators are made as `device_config` says.
CaseReport check_case(const OpCase& one, const std::string& device);

/// What is wrong with the gradients of a case in float64, empty when nothing is: first and second
/// ones against central differences under random cotangents, with sizes known and unknown. Ops in
/// `overrides` have another gradient, by its registered name.
std::string check_gradients(const OpCase& one,
                            const std::map<std::string, std::string>& overrides = {});

/// A session's options that bring `device` about: a simulated accelerator for SIM.
ConfigProto device_config(const std::string& device);

}  // namespace towerflow::testing
