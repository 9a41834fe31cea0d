#include "parallel/input/same_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/graph/log.h"
#include "parallel/input/example_census.h"

namespace towerflow::parallel {
namespace {

void log_same_examples(const std::string& text) { log_message(LogLevel::warning, text); }

}  // namespace

SameExamplesHook::SameExamplesHook(std::vector<Tensor> inputs, Report report, std::int64_t steps,
                                   Site site)
    : inputs_(std::move(inputs)),
      report_(report ? std::move(report) : log_same_examples),
      steps_(steps) {
  if (steps < 1) {
    throw ValueError(fmt::format("steps must be at least 1, got {}", steps), {.site = site});
  }
}

train::SessionRunArgs SameExamplesHook::before_run(train::SessionRunContext&) {
  if (steps_ == 0 || inputs_.size() < 2) return {};
  return {{inputs_.begin(), inputs_.end()}, {}};
}

void SameExamplesHook::after_run(train::SessionRunContext& context,
                                 const train::SessionRunValues& values) {
  if (values.results.empty()) return;
  --steps_;
  std::vector<std::unordered_set<std::uint64_t>> read;
  for (std::size_t tower = 0; tower < values.results.size(); ++tower) {
    const std::vector<std::uint64_t> rows = hash_rows(values.results[tower]);
    for (std::size_t other = 0; other < read.size(); ++other) {
      const auto same = std::count_if(rows.begin(), rows.end(),
                                      [&](std::uint64_t row) { return read[other].contains(row); });
      if (2 * static_cast<std::size_t>(same) <= rows.size()) continue;
      steps_ = 0;
      report_(fmt::format(
          "step {}: towers {} and {} read the same examples: {} of the {} of '{}' are also in "
          "'{}'. Deal one input to the towers (tf::parallel::deal), or give each a share of its "
          "own: dataset.shard(num_towers, tower)",
          context.global_step(), other, tower, same, rows.size(), inputs_[tower].name(),
          inputs_[other].name()));
      return;
    }
    read.emplace_back(rows.begin(), rows.end());
  }
}

}  // namespace towerflow::parallel
