#include "parallel/batch_size.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/graph/error.h"

namespace towerflow::parallel::types {
namespace {

void check_examples(std::int64_t examples, const char* what, Site site) {
  if (examples >= 1) return;
  throw ValueError(fmt::format("{} needs at least 1 example, got {}", what, examples),
                   {.site = site});
}

void check_tower_count(int num_towers, Site site) {
  if (num_towers >= 1) return;
  throw ValueError(fmt::format("the number of towers must be at least 1, got {}", num_towers),
                   {.site = site});
}

}  // namespace

TowerBatch::TowerBatch(Checked, std::int64_t examples, Site site) : examples_(examples) {
  check_examples(examples, "the batch of a tower", site);
}

GlobalBatch TowerBatch::on(int num_towers, Site site) const {
  check_tower_count(num_towers, site);
  if (examples_ > std::numeric_limits<std::int64_t>::max() / num_towers) {
    throw ValueError(fmt::format("{} towers cannot read {} examples each: the sum is too large",
                                 num_towers, examples_),
                     {.site = site});
  }
  return GlobalBatch(examples_ * num_towers, site);
}

GlobalBatch::GlobalBatch(Checked, std::int64_t examples, Site site) : examples_(examples) {
  check_examples(examples, "the batch of all towers", site);
}

TowerBatch GlobalBatch::over(int num_towers, Site site) const {
  check_tower_count(num_towers, site);
  if (examples_ % num_towers != 0) {
    throw ValueError(
        fmt::format("the batch size must be divisible by the number of towers, got {} and {}",
                    examples_, num_towers),
        {.site = site,
         .hint = fmt::format(
             "{} is; or deal uneven batches and average them by weighted_mean",
             examples_ < num_towers ? num_towers : examples_ / num_towers * num_towers)});
  }
  return TowerBatch(examples_ / num_towers, site);
}

std::vector<std::int64_t> GlobalBatch::dealt_to(int num_towers, Site site) const {
  check_tower_count(num_towers, site);
  std::vector<std::int64_t> dealt(static_cast<std::size_t>(num_towers), examples_ / num_towers);
  for (std::int64_t i = 0; i < examples_ % num_towers; ++i) ++dealt[static_cast<std::size_t>(i)];
  return dealt;
}

double GlobalBatch::steps(std::int64_t examples) const {
  return static_cast<double>(examples) / static_cast<double>(examples_);
}

std::int64_t GlobalBatch::steps_of_epochs(double epochs, std::int64_t examples, Site site) const {
  check_examples(examples, "an epoch", site);
  const double steps = this->steps(examples) * epochs;
  if (!(epochs >= 0) || !(steps < 9e18)) {
    throw ValueError(
        fmt::format("the number of epochs must be finite and at least 0, got {}", epochs),
        {.site = site});
  }
  return static_cast<std::int64_t>(steps);
}

}  // namespace towerflow::parallel::types
