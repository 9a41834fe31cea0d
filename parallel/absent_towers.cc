#include "parallel/absent_towers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/graph/log.h"

namespace towerflow::parallel {
namespace {

void warn_of_absent_towers(std::int64_t step, const std::vector<int>& towers) {
  log_message(
      LogLevel::warning,
      fmt::format("step {}: tower {} had weight 0, as of an empty batch, and counted nothing", step,
                  fmt::join(towers, " and tower ")));
}

}  // namespace

AbsentTowersHook::AbsentTowersHook(std::vector<Tensor> weights, Report report)
    : weights_(std::move(weights)), report_(report ? std::move(report) : warn_of_absent_towers) {}

train::SessionRunArgs AbsentTowersHook::before_run(train::SessionRunContext&) {
  return {{weights_.begin(), weights_.end()}, {}};
}

void AbsentTowersHook::after_run(train::SessionRunContext& context,
                                 const train::SessionRunValues& values) {
  std::vector<int> towers;
  for (std::size_t i = 0; i < values.results.size(); ++i) {
    const Array& weight = values.results[i];
    bool is_zero = false;
    dispatch_dtype(weight.dtype(), [&]<class T>() { is_zero = weight.data<T>()[0] == T(0); });
    if (is_zero) towers.push_back(static_cast<int>(i));
  }
  if (!towers.empty()) report_(context.global_step(), towers);
}

}  // namespace towerflow::parallel
