#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/runtime/session.h"

namespace towerflow {

struct ExplainOptions {
  Feeds feeds{};
  int warm_up = 3;     ///< runs before the one that is shown
  bool plan = false;   ///< every instruction as well
  bool times = false;  ///< as a table, over ten more runs: where the time goes, kernel by kernel
};

/// A run in words and a picture, for whoever wants to know what it does: which device holds what,
/// what crosses between memories, who works and who waits for whom, and what the planner did. To
/// see that it runs the fetches: what they change, they change `warm_up` + 1 times.
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
