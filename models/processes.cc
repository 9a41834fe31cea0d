#include "models/processes.h"

#include <fmt/format.h>

#include "parallel/processes/all_reduce.h"
#include "parallel/processes/schedule_check.h"
#include "towerflow/tf.h"

namespace towerflow::models {

Processes::Processes(bool across) {
  if (!across || parallel::process_group().size() == 1) return;
  group_ = &parallel::process_group();
  rank_ = group_->rank();
  size_ = group_->size();
}

std::int64_t Processes::examples_each(const Model& model,
                                      const std::vector<std::string>& files) const {
  const std::int64_t all = model.data->count(files);
  // A picture is a file of its own.
  if (all == static_cast<std::int64_t>(files.size())) return all / size_;
  std::int64_t each = 0;
  for (const std::string& file : files) each += model.data->count({file}) / size_;
  return each;
}

void Processes::require_same(const std::string& text) const {
  if (group_ == nullptr) return;
  parallel::processes::check_same_in_all(*group_, text, "train differently", {});
}

std::optional<ProcessPositions> Processes::positions(const train::TrainingFolder& folder,
                                                     std::optional<std::int64_t> seed,
                                                     std::int64_t save_every) const {
  if (group_ == nullptr) return std::nullopt;
  return ProcessPositions(*group_, folder, seed, save_every);
}

std::unique_ptr<train::GradientScope> Processes::averaged_gradients() const {
  if (group_ == nullptr) return nullptr;
  return std::make_unique<train::GradientScope>(
      tf::get_default_graph(),
      train::GradientChanges{.applied = [](const std::vector<GradAndVar>& grads) {
        return parallel::all_reduce(grads);
      }});
}

std::vector<std::shared_ptr<train::SessionRunHook>> Processes::hooks(
    const std::shared_ptr<parallel::StopTogetherHook>& stop) const {
  if (group_ == nullptr) return {};
  return {std::make_shared<parallel::BroadcastGlobalVariablesHook>(), stop};
}

}  // namespace towerflow::models
