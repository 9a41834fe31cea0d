#include "report/explain.h"

#include <fmt/format.h>

#include "report/step_report.h"

namespace towerflow {
namespace {

constexpr int kTimedRuns = 10;

RunMetadata run_traced(Session& session, std::span<const Fetch> fetches, const Feeds& feeds) {
  RunMetadata metadata;
  session.run(fetches, feeds, {.trace_level = RunOptions::FULL_TRACE}, &metadata);
  return metadata;
}

}  // namespace

std::string explain(Session& session, std::span<const Fetch> fetches,
                    const ExplainOptions& options) {
  if (options.warm_up < 0) {
    throw ValueError(fmt::format("explain: {} runs before the one that is shown", options.warm_up));
  }
  for (int i = 0; i < options.warm_up; ++i) session.run(fetches, options.feeds);
  std::string text = report::explanation(session, fetches, options.feeds,
                                         run_traced(session, fetches, options.feeds));
  if (options.times) {
    std::vector<RunMetadata> steps;
    for (int i = 0; i < kTimedRuns; ++i)
      steps.push_back(run_traced(session, fetches, options.feeds));
    text += "\nWhere the time goes\n" + report::step_table(steps);
  }
  if (options.plan) text += "\nThe plan\n" + session.plan_report(fetches, options.feeds);
  return text;
}

}  // namespace towerflow
