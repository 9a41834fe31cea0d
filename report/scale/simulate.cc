#include "report/scale/simulate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/device/backend.h"
#include "core/graph/all_reduce_schedule.h"
#include "core/graph/error.h"
#include "report/scale/exchange.h"

namespace towerflow::report {
namespace {

void check_options(const ScaleOptions& options, int towers) {
  const auto check_that = [](bool holds, const char* what, double got) {
    if (!holds) throw ValueError(fmt::format("simulated towers: {}, got {}", what, got));
  };
  static_assert(kMaxDevices == 1024, "as the next line says");
  check_that(towers >= 1 && towers <= kMaxDevices, "from 1 to 1024 towers", towers);
  check_that(options.bucket_bytes > 0, "buckets of a positive size", options.bucket_bytes);
  check_that(options.group_size >= 0, "groups of at least one tower", options.group_size);
  check_that(options.servers >= 0, "at least one server", options.servers);
  check_that(options.jitter >= 0 && options.jitter <= 0.5, "a jitter from 0 to 0.5",
             options.jitter);
  check_that(options.steps >= 1, "at least one step", options.steps);
}

SimulatedEnd simulate_once(const SimulatedStep& step) {
  using Kind = ScaleStrategy::Kind;
  const Kind kind = step.options.strategy.kind;
  if (kind == Kind::parameter_server) return simulate_parameter_server(step);
  if (step.towers > 1 && kind != Kind::independent) return simulate_all_reduce(step);
  const double slowest = *std::max_element(step.pace.begin(), step.pace.end());
  return {Moment{}
              .after(step.profile.compute * slowest, PathTime::compute)
              .after(kUpdatePasses * step.profile.bytes() / step.cluster.tower_memory,
                     PathTime::memory)};
}

}  // namespace

const std::vector<ScaleStrategy>& scale_strategies() {
  using Kind = ScaleStrategy::Kind;
  static const std::vector<ScaleStrategy> all = [] {
    std::vector<ScaleStrategy> list{{"independent", Kind::independent},
                                    {"parameter_server", Kind::parameter_server}};
    for (const auto& [algorithm, word] : kAllReduceNames) {
      if (has_schedule(algorithm)) list.push_back({word, Kind::all_reduce, algorithm});
    }
    list.push_back({"rotated_ring", Kind::rotated_ring});
    return list;
  }();
  return all;
}

const ScaleStrategy& scale_strategy(const std::string& word) {
  std::vector<std::string> words;
  for (const ScaleStrategy& strategy : scale_strategies()) {
    if (strategy.word == word) return strategy;
    words.push_back(strategy.word);
  }
  throw ValueError(fmt::format("no strategy of simulated towers is called '{}'", word),
                   {.hint = fmt::format("known: {}", fmt::join(words, ", "))});
}

std::string ScaleResult::bound() const {
  const double least = 0.02 * step;
  std::vector<std::pair<double, const char*>> all{
      {path.seconds[PathTime::between], "network"},
      {path.seconds[PathTime::inside], "host links"},
      {path.seconds[PathTime::latency], "latency"},
      {path.seconds[PathTime::memory] - (alone - path.seconds[PathTime::compute]), "memory"},
      {slowest - alone, "stragglers"}};
  all[3].first = std::min(all[3].first, static_cast<double>(path.seconds[PathTime::memory]));
  if (step - alone < least) return "compute";
  return std::max_element(all.begin(), all.end())->second;
}

ScaleResult simulate_step(const StepProfile& profile, const Cluster& cluster,
                          const ScaleOptions& options, int towers) {
  check(profile);
  check(cluster);
  check_options(options, towers);
  ScaleResult result;
  const double update = kUpdatePasses * profile.bytes() / cluster.tower_memory;
  result.alone = profile.compute + update;
  const int steps = options.jitter > 0 ? options.steps : 1;
  std::mt19937 random(options.seed);
  std::normal_distribution<double> draw(1, options.jitter > 0 ? options.jitter : 1);
  for (int i = 0; i < steps; ++i) {
    SimulatedStep step{profile, cluster, options, towers, {}};
    for (int tower = 0; tower < towers; ++tower) {
      step.pace.push_back(options.jitter > 0 ? std::max(draw(random), 0.1) : 1);
    }
    const SimulatedEnd end = simulate_once(step);
    const double slowest = *std::max_element(step.pace.begin(), step.pace.end());
    result.step += end.end.time / steps;
    result.slowest += (profile.compute * slowest + update) / steps;
    result.messages += end.messages / steps;
    for (std::size_t part = 0; part < result.path.seconds.size(); ++part) {
      result.path.seconds[part] += end.end.path.seconds[part] / static_cast<float>(steps);
    }
  }
  return result;
}

}  // namespace towerflow::report
