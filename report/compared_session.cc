#include "report/compared_session.h"

#include <set>

#include "core/graph/graph.h"

namespace towerflow::report {

ComparedSession::ComparedSession(const ComparedRun& run, const VariableValues& initial)
    : run_(run) {
  Graph& graph = run.step.at(0).operation().graph();
  session_ = std::make_unique<Session>(graph, run.config);
  variables_ = graph.collections().get<Variable>(GraphKeys::GLOBAL_VARIABLES, std::nullopt);
  std::vector<Fetch> initializers;
  for (const Variable& variable : variables_) initializers.emplace_back(variable.initializer());
  for (const Variable& variable :
       graph.collections().get<Variable>(GraphKeys::LOCAL_VARIABLES, std::nullopt)) {
    initializers.emplace_back(variable.initializer());
  }
  session_->run(initializers);
  load(initial);
}

void ComparedSession::load(const VariableValues& initial) {
  std::vector<Fetch> initializers;
  Feeds feeds;
  std::set<std::string> fed;
  const auto assign = [&] {
    if (!initializers.empty()) session_->run(initializers, feeds);
    initializers.clear();
    feeds.clear();
    fed.clear();
  };
  for (const Variable& variable : variables_) {
    const auto value = initial.find(variable.name());
    if (value == initial.end() || value->second.dtype() != variable.dtype() ||
        !variable.shape().compatible(value->second.shape())) {
      continue;
    }
    // Variables may share an initial value, which takes one feed in a run.
    if (!fed.insert(variable.initial_value().name()).second) assign();
    fed.insert(variable.initial_value().name());
    initializers.emplace_back(variable.initializer());
    feeds.emplace_back(variable.initial_value(), value->second);
  }
  assign();
}

std::vector<Array> ComparedSession::step(int number, std::span<const Fetch> more) {
  std::vector<Fetch> fetches = run_.step;
  fetches.insert(fetches.end(), more.begin(), more.end());
  return session_->run(fetches, run_.feeds ? run_.feeds(number) : Feeds{});
}

std::vector<Array> ComparedSession::values(const std::vector<Fetch>& fetches, const Feeds& more) {
  Feeds feeds = run_.feeds ? run_.feeds(1) : Feeds{};
  feeds.insert(feeds.end(), more.begin(), more.end());
  return session_->run(fetches, feeds);
}

std::vector<std::string> ComparedSession::launched(int number) {
  RunMetadata trace;
  session_->run(run_.step, run_.feeds ? run_.feeds(number) : Feeds{},
                {.trace_level = RunOptions::FULL_TRACE}, &trace);
  std::vector<std::string> names;
  for (const NodeStats& stats : trace.nodes) {
    if (stats.kind == NodeStats::Kind::kernel && stats.loop.empty()) names.push_back(stats.node);
  }
  return names;
}

VariableValues ComparedSession::variables() {
  std::vector<Fetch> reads;
  for (const Variable& variable : variables_) reads.emplace_back(variable.value());
  const std::vector<Array> values = session_->run(reads);
  VariableValues named;
  for (std::size_t i = 0; i < values.size(); ++i) named[variables_[i].name()] = values[i];
  return named;
}

}  // namespace towerflow::report
