#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/runtime/session.h"

namespace towerflow {

struct ExplainOptions {
  Feeds feeds{};
  int warm_up = 3;     ///< runs before the run that is shown
  bool plan = false;   ///< also lists every instruction of the plan
  bool times = false;  ///< also shows a table of the time per kernel, over ten more runs
};

/// Describes a run as text and a timeline: which device holds what, what is copied between
/// memories, which devices work or wait for others, and what the planner did. Runs the fetches
/// `warm_up` + 1 times, with their side effects; ten times more with `times`.
///
/// errors   what a run of the fetches throws; ValueError: a negative number of runs
std::string explain(Session& session, std::span<const Fetch> fetches,
                    const ExplainOptions& options = {});
inline std::string explain(Session& session, std::initializer_list<Fetch> fetches,
                           const ExplainOptions& options = {}) {
  return explain(session, std::span(fetches.begin(), fetches.size()), options);
}
template <FetchLike T>
std::string explain(Session& session, const std::vector<T>& fetches,
                    const ExplainOptions& options = {}, Site site = Site::current()) {
  return explain(session, std::span<const Fetch>(to_fetches(fetches, site)), options);
}

}  // namespace towerflow
