#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/variables/variable.h"

namespace towerflow {

struct IsVariableInitializedOptions {
  std::string name{};
};

/// Returns whether the session has a value for the variable.
///
/// shapes   variable [...] -> []     dtypes  any -> bool
/// grads    none: the result is bool
/// source   tf.is_variable_initialized
Tensor is_variable_initialized(const Variable& variable, IsVariableInitializedOptions options = {},
                               Site site = Site::current());

struct ReportUninitializedVariablesOptions {
  ByName by_name = ByName();
  std::string name = "report_uninitialized_variables";
};

/// Returns the names of the variables that have no value in the session, by default of the global
/// and local ones. If there are none of these, every variable of the graph is checked.
///
/// shapes   [n], n known only at run time     dtypes  string
/// grads    none
/// source   tf.report_uninitialized_variables
Tensor report_uninitialized_variables(
    const std::optional<std::vector<Variable>>& var_list = std::nullopt,
    ReportUninitializedVariablesOptions options = {}, Site site = Site::current());
inline Tensor report_uninitialized_variables(ReportUninitializedVariablesOptions options,
                                             Site site = Site::current()) {
  return report_uninitialized_variables(std::nullopt, std::move(options), site);
}

/// Returns a tensor whose computation fails with FailedPreconditionError unless all variables have
/// values: their ranks. Returns nothing if there are no variables.
/// (tf.assert_variables_initialized)
std::optional<Tensor> assert_variables_initialized(
    const std::optional<std::vector<Variable>>& var_list = std::nullopt,
    Site site = Site::current());

/// The older names of TensorFlow 1.x: tf.all_variables, tf.initialize_variables, ...
std::vector<Variable> all_variables();
Operation initialize_variables(const std::vector<Variable>& variables, std::string name = "init",
                               Site site = Site::current());
Operation initialize_all_variables(Site site = Site::current());
Operation initialize_local_variables(Site site = Site::current());

/// Returns an initial value that can be computed whatever has been initialized so far: dependencies
/// on other variables are replaced by their `initialized_value`. The nodes in between are copied
/// and named after the originals and `scope` ("v/"), as TensorFlow does when it makes a variable.
Tensor guarded_initial_value(const Tensor& initial_value, const std::string& scope, Site site);

}  // namespace towerflow
