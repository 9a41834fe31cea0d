#include "parallel/staged_variables.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/graph/scopes.h"
#include "ops/control/group.h"
#include "ops/variables/assign.h"
#include "ops/variables/copies.h"

namespace towerflow::parallel {
namespace {

void check_can_be_staged(const Variable& variable) {
  if (variable.partitioned()) {
    throw NotImplementedError(
        "A partitioned variable cannot be staged.",
        {.site = variable.site(),
         .node = variable.name(),
         .hint = "leave out the partitioner, or get the variable outside the staging scope"});
  }
  if (variable.shape().fully_known()) return;
  throw ValueError(fmt::format("a variable of shape {} cannot be staged", variable.shape().text()),
                   {.site = variable.site(),
                    .node = variable.op().name(),
                    .hint = "give the variable a fully known shape"});
}

Variable make_staged_copy(const Variable& variable, const std::string& on) {
  const Site site = variable.site();
  Graph& graph = variable.graph();
  // Devices may be requested by functions, which send variables elsewhere.
  std::optional<DeviceScope> no_other, there;
  if (!on.empty()) {
    no_other.emplace(graph, std::monostate{}, site);
    there.emplace(graph, device_level(on, site), site);
  }
  return Variable(variable.value(),
                  {.trainable = false,
                   .collections = std::vector<std::string>{GraphKeys::LOCAL_VARIABLES},
                   .name = variable.op().name() + "/staged",
                   .home = VariableHome::device},
                  site);
}

/// Returns the value of a variable, by a read of its own unless each device has the variable
/// anyway. A device that uses the first read would keep a replica, and a step would end with its
/// refresh.
Tensor value_to_copy(const Variable& variable, Site site) {
  if (variable.home() == VariableHome::mirrored) return variable;
  const ColocationScope beside(variable.graph(), &variable.op().node(), true);
  return variable.read_value(site);
}

/// Returns a handle of `variable` that reads its copy.
Variable reading(const Variable& copy, const Variable& variable) {
  return variable_of({.ref = variable.ref(),
                      .snapshot = copy.value(),
                      .initializer = variable.initializer(),
                      .initial_value = variable.initial_value(),
                      .trainable = variable.trainable(),
                      .constraint = variable.constraint(),
                      .save_slice_info = variable.save_slice_info(),
                      .parts = std::nullopt,
                      .site = variable.site()});
}

}  // namespace

struct types::StagedVariables::State {
  /// A variable, and its copy for a tower.
  struct Staged {
    int tower = 0;
    Variable variable, copy;
  };
  std::vector<Staged> copies;

  Variable copy_of(const Variable& variable, int tower, const std::string& device) {
    for (const Staged& made : copies) {
      if (made.tower == tower && made.variable.ref() == variable.ref()) return made.copy;
    }
    check_can_be_staged(variable);
    copies.push_back({tower, variable, make_staged_copy(variable, device)});
    add_copy(variable, copies.back().copy);
    return copies.back().copy;
  }
};

StagedVariables::StagedVariables() : state_(std::make_shared<State>()) {}

CustomGetter StagedVariables::getter(int tower, const std::string& device) const {
  return [state = state_, tower, device](const VariableGetter& get, const std::string& name,
                                         const std::optional<Shape>& shape,
                                         const GetVariableOptions& options) {
    const Variable variable = get(name, shape, options);
    if (!variable.trainable()) return variable;
    return reading(state->copy_of(variable, tower, device), variable);
  };
}

Operation StagedVariables::refresh(Site site) const {
  if (state_->copies.empty()) {
    throw ValueError("no variable is staged",
                     {.site = site,
                      .hint = "towers get their trainable variables with tf::get_variable, in a "
                              "variable scope with the custom getter of StagedVariables::getter"});
  }
  Graph& graph = state_->copies[0].variable.graph();
  const NameScope scope(graph, "refresh_staged", site);
  std::vector<Operation> refreshed;
  for (const State::Staged& made : state_->copies) {
    const Tensor value = value_to_copy(made.variable, site);
    const ColocationScope beside(graph, &made.copy.op().node(), true);
    refreshed.push_back(assign(made.copy, value, {}, site).op());
  }
  return group(refreshed, {.name = scope.name()}, site);
}

}  // namespace towerflow::parallel
