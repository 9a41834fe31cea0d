#include "parallel/processes/training_hooks.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/graph/collections.h"
#include "ops/variables/initialization.h"
#include "parallel/processes/mean_exchange.h"
#include "parallel/processes/schedule_check.h"

namespace towerflow::parallel {
namespace {

constexpr int kVoteTag = 1;

/// Sets a variable as TensorFlow's `load` does: runs its initializer with another value.
void load_value(Session& session, const Variable& variable, const Array& value) {
  const Operation initializer = variable.initializer();
  session.run(initializer, {{initializer.input(1), value}});
}

}  // namespace

void broadcast_global_variables(Session& session, Site site) {
  ProcessGroup& group = process_group();
  if (group.size() == 1) return;
  const std::vector<Variable> variables = global_variables();
  std::string lines = fmt::format("{} variables", variables.size());
  std::size_t bytes = 0;
  for (const Variable& variable : variables) {
    if (variable.dtype() == DType::string) {
      throw TypeError(
          "processes cannot give one another the strings of variable " + variable.name(),
          {.site = site});
    }
    lines += fmt::format("\n{}: {} {}", variable.name(), dtype_name(variable.dtype()),
                         variable.shape().text());
    bytes += Array(variable.dtype(), variable.shape()).bytes();
  }
  processes::check_same_in_all(group, lines, "have different variables", site);
  std::string values;
  if (group.rank() == 0) {
    const std::vector<Fetch> fetches(variables.begin(), variables.end());
    values.reserve(bytes);
    for (const Array& value : session.run(fetches)) {
      values.append(static_cast<const char*>(value.raw()), value.bytes());
    }
  }
  values = group.broadcast(std::move(values), "the values of the variables");
  if (group.rank() == 0) return;
  const char* at = values.data();
  for (const Variable& variable : variables) {
    Array value(variable.dtype(), variable.shape());
    std::memcpy(value.raw(), at, value.bytes());
    at += value.bytes();
    load_value(session, variable, value);
  }
}

namespace types {

void BroadcastGlobalVariablesHook::after_create_session(train::SessionRunContext& context,
                                                        train::Coordinator&) {
  broadcast_global_variables(context.session());
}

train::SessionRunArgs StopTogetherHook::before_run(train::SessionRunContext&) {
  if (votes_ == nullptr) {
    votes_ = processes::make_mean_exchange(process_group(), "the agreement to go on", kVoteTag,
                                           DType::float64, 1);
  }
  const double vote = asks_() ? 1 : 0;
  std::memcpy(votes_->numbers(), &vote, sizeof(vote));
  process_group().start(votes_);
  return {};
}

void StopTogetherHook::after_run(train::SessionRunContext& context,
                                 const train::SessionRunValues&) {
  process_group().wait(*votes_);
  double mean = 0;
  std::memcpy(&mean, votes_->means(), sizeof(mean));
  if (mean == 0) return;
  asked_ = true;
  context.request_stop();
}

}  // namespace types
}  // namespace towerflow::parallel
