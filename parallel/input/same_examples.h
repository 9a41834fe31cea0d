#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/session_run_hook.h"

namespace towerflow::parallel::types {

/// Warns if two towers read the same batch, which then counts twice and hides the other examples
/// of the epoch. It happens when each tower builds an input of its own and none takes a share.
///
/// In the first steps the hook fetches what each tower reads. Towers that read a data set in
/// different orders share a few examples of a step by chance; the warning comes if more than half
/// of a tower's batch is in another tower's.
class SameExamplesHook : public train::SessionRunHook {
 public:
  /// Called once, for the first pair of towers found, with a text that names them.
  using Report = std::function<void(const std::string& text)>;

  /// `inputs`: a batch of each tower, [n, ..]. Without `report`, logs a warning.
  ///
  /// errors   ValueError: less than one step
  explicit SameExamplesHook(std::vector<Tensor> inputs, Report report = {}, std::int64_t steps = 2,
                            Site site = Site::current());
  train::SessionRunArgs before_run(train::SessionRunContext& context) override;
  void after_run(train::SessionRunContext& context, const train::SessionRunValues& values) override;

 private:
  std::vector<Tensor> inputs_;
  Report report_;
  std::int64_t steps_;  // still to be looked at
};

}  // namespace towerflow::parallel::types
