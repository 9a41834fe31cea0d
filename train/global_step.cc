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
  // Several are as good as none, as in TensorFlow.
  if (!listed.empty()) return std::nullopt;
  for (const Variable& variable : global_variables()) {
    if (variable.op().name() == GraphKeys::GLOBAL_STEP) return variable;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Variable> get_global_step(Site site) {
  const auto step = find_global_step();
  if (!step) return std::nullopt;
  if (!is_integer(step->dtype())) {
    throw TypeError(fmt::format("Existing \"global_step\" does not have integer type: {}",
                                dtype_name(step->dtype())),
                    {.site = site, .node = step->op().name()});
  }
  if (step->shape().has_rank() && step->shape().rank() != 0) {
    throw TypeError(fmt::format("Existing \"global_step\" is not scalar: {}", step->shape().text()),
                    {.site = site, .node = step->op().name()});
  }
  return step;
}

Variable create_global_step(Site site) {
  if (get_global_step(site)) {
    throw ValueError("\"global_step\" already exists.",
                     {.site = site, .hint = "get_or_create_global_step finds it"});
  }
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
