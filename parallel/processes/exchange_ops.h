#pragma once

#include <string>
#include <vector>

#include "core/graph/attr_fields.h"
#include "core/graph/rewrite.h"

namespace towerflow::parallel::processes {

/// What a pair of ops exchanges.
struct ExchangeAttrs {
  int tag = 0;
  std::string what;         ///< for errors: "the mean of conv1/weights"
  std::vector<int> givers;  ///< the processes that have the gradients; all if empty
  static constexpr auto fields =
      std::tuple{attr::field("tag", &ExchangeAttrs::tag), attr::field("what", &ExchangeAttrs::what),
                 attr::field("givers", &ExchangeAttrs::givers)};
};

// _ProcessMeanStart(gradients: N * T) -> handle: begins the mean over `givers` of the gradients,
//   which lie in one buffer. It is computed while the run goes on.
// _ProcessMeanEnd(handle, gradients: N * T) -> means: waits for the means, which lie in one buffer
//   too. It reads the shapes of the gradients alone.
// _ProcessRowsStart(values: T, indices: I) -> handle, _ProcessRowsEnd(handle, values, indices) ->
//   values, indices: those of all processes one after another, in rank order, with values divided
//   by the number of `givers`.
//
// A start is made as early as its inputs are: see core/runtime/schedule.cc.
inline constexpr const char* kMeanStart = "_ProcessMeanStart";
inline constexpr const char* kMeanEnd = "_ProcessMeanEnd";
inline constexpr const char* kRowsStart = "_ProcessRowsStart";
inline constexpr const char* kRowsEnd = "_ProcessRowsEnd";

/// Adds the rewrite rule of these ops.
void register_exchange_rules(std::vector<RewriteRule>& rules);

}  // namespace towerflow::parallel::processes
