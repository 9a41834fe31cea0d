#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "report/compare.h"

namespace towerflow::report {

/// Values of variables, by name.
using VariableValues = std::map<std::string, Array>;

/// A session that runs the steps of one side of a comparison from given initial values.
class ComparedSession {
 public:
  /// Runs the initializers of all variables, then loads `initial`, of which it takes the variables
  /// that it has.
  ComparedSession(const ComparedRun& run, const VariableValues& initial);

  /// Runs a step with further fetches; returns the values of the step's fetches and theirs.
  std::vector<Array> step(int number, std::span<const Fetch> more = {});
  /// Returns the values of fetches, with the feeds of the first step and more.
  std::vector<Array> values(const std::vector<Fetch>& fetches, const Feeds& more);
  /// Returns the names of the nodes for which a traced step launches a kernel.
  std::vector<std::string> launched(int number);
  VariableValues variables();

 private:
  void load(const VariableValues& initial);

  const ComparedRun& run_;
  std::vector<Variable> variables_;
  std::unique_ptr<Session> session_;
};

}  // namespace towerflow::report
