#include "train/global_step.h"

#include <fmt/format.h>

#include "core/graph/scopes.h"
#include "ops/variables/initializers.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::train {
namespace {

std::optional<Variable> find_global_step() {
  const auto listed = get_collection<Variable>(GraphKeys::GLOBAL_STEP);
  if (listed.size() == 1) return listed[0];
  // Several count as none, as in TensorFlow.
  if (!listed.empty()) return std::nullopt;
  for (const Variable& variable : global_variables()) {
    if (variable.name() == std::string(GraphKeys::GLOBAL_STEP) + ":0") return variable;
  }
  // get_variable also knows variables that are in no collection.
  const auto& known = get_default_graph().extension<VariableStore>().variables();
  const auto found = known.find(GraphKeys::GLOBAL_STEP);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

void assert_global_step(const Variable& global_step, Site site) {
  if (!is_integer(global_step.dtype())) {
    throw TypeError(fmt::format("Existing \"global_step\" does not have integer type: {}",
                                dtype_name(global_step.dtype())),
                    {.site = site, .node = global_step.op().name()});
  }
  if (global_step.shape().fully_known() && global_step.shape().rank() != 0) {
    throw TypeError(
        fmt::format("Existing \"global_step\" is not scalar: {}", global_step.shape().text()),
        {.site = site, .node = global_step.op().name()});
  }
}

std::int64_t global_step(Session& session, const Variable& global_step) {
  const Array value = session.run(global_step);
  std::int64_t steps = 0;
  const bool number = dispatch_dtype(
      value.dtype(), [&]<class T>() { steps = static_cast<std::int64_t>(value.flat<T>()[0]); });
  if (!number || value.elements() != 1) {
    throw TypeError(fmt::format("{} is not a number of steps", global_step.name()),
                    {.node = global_step.op().name()});
  }
  return steps;
}

std::optional<Variable> get_global_step(Site site) {
  const auto step = find_global_step();
  if (step) assert_global_step(*step, site);
  return step;
}

Variable create_global_step(Site site) {
  if (get_global_step(site)) {
    throw ValueError("\"global_step\" already exists.",
                     {.site = site, .hint = "get_or_create_global_step finds it"});
  }
  const DefaultGraphGuard inside = get_default_graph().as_default();
  GetVariableOptions options;
  options.dtype = DType::int64;
  options.initializer = zeros_initializer();
  options.trainable = false;
  options.collections = {GraphKeys::GLOBAL_VARIABLES, GraphKeys::GLOBAL_STEP};
  return get_variable(GraphKeys::GLOBAL_STEP, Shape{}, options, site);
}

Variable get_or_create_global_step(Site site) {
  const auto step = get_global_step(site);
  return step ? *step : create_global_step(site);
}

}  // namespace towerflow::train
