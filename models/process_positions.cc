#include "models/process_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "towerflow/tf.h"
#include "train/checkpoint/bundle_reader.h"

namespace towerflow::models {
namespace {

// What process 0 tells the others. The positions of each process hold its seed too.
constexpr const char* kSaves = "saves";
constexpr const char* kSaveEvery = "save_every";
constexpr const char* kPositions = "positions";
constexpr const char* kSeed = "seed";

std::string positions_key(int processes) {
  return fmt::format("{}{}/positions", train::kPositionsOfProcesses, processes);
}

/// Returns the packed positions in a checkpoint, by rank; nothing if it is not of so many
/// processes.
std::optional<Array> saved_positions(const std::string& checkpoint, int processes) {
  const TensorBundleReader reader(checkpoint);
  const std::string key = positions_key(processes);
  if (!reader.contains(key)) return std::nullopt;
  Array saved = reader.read(key);
  if (saved.dtype() != DType::string || saved.elements() != processes) {
    throw errors::DataLossError(fmt::format("'{}' has {} for '{}', not {} strings", checkpoint,
                                            saved.text(), key, processes),
                                {.hint = "start over with --restart"});
  }
  return saved;
}

std::int64_t step_of(const std::string& checkpoint) {
  const std::size_t dash = checkpoint.rfind('-');
  return dash == std::string::npos ? 0 : std::stoll(checkpoint.substr(dash + 1));
}

/// Gathers the positions of all processes whenever CheckpointSaverHook, which comes after it, saves
/// a checkpoint in process 0.
class GatherHook : public tf::train::SessionRunHook {
 public:
  GatherHook(parallel::ProcessGroup& group, std::vector<train::Saveable> positions,
             std::optional<std::int64_t> seed, std::optional<Variable> all, std::int64_t save_steps)
      : group_(group), positions_(std::move(positions)), seed_(seed), all_(std::move(all)) {
    if (save_steps > 0) timer_.emplace("GatherHook", save_steps, std::nullopt);
  }

  void after_create_session(tf::train::SessionRunContext& context,
                            tf::train::Coordinator&) override {
    seen_ = gathered_ = context.global_step();
  }
  void after_run(tf::train::SessionRunContext& context,
                 const tf::train::SessionRunValues&) override {
    const std::int64_t step = context.global_step();
    if (timer_ && timer_->is_due(std::exchange(seen_, step), step)) gather(context);
  }
  void end(tf::train::SessionRunContext& context) override {
    if (gathered_ != context.global_step()) gather(context);
  }

 private:
  void gather(tf::train::SessionRunContext& context) {
    gathered_ = context.global_step();
    train::NamedValues values = train::values_of(context.session(), positions_);
    if (seed_) values.emplace(kSeed, Array::scalar(*seed_));
    const std::vector<std::string> packed =
        group_.all_gather(train::pack_values(values), "the positions in the input");
    if (!all_) return;
    Array array(DType::string, Shape{group_.size()});
    std::copy(packed.begin(), packed.end(), array.data<std::string>());
    const Operation initializer = all_->initializer();
    context.session().run(initializer, {{initializer.input(1), array}});
  }

  parallel::ProcessGroup& group_;
  std::vector<train::Saveable> positions_;
  std::optional<std::int64_t> seed_;
  std::optional<Variable> all_;
  std::optional<tf::train::HookTimer> timer_;
  std::int64_t seen_ = 0, gathered_ = 0;
};

}  // namespace

ProcessPositions::ProcessPositions(parallel::ProcessGroup& group,
                                   const train::TrainingFolder& folder,
                                   std::optional<std::int64_t> seed, std::int64_t save_every)
    : group_(group) {
  std::string text;
  if (group.rank() == 0) {
    train::NamedValues values{{kSaves, Array::scalar(static_cast<bool>(folder))},
                              {kSaveEvery, Array::scalar(save_every)}};
    if (folder) checkpoint_ = folder.resumed_from();
    if (!checkpoint_.empty()) {
      const auto saved = saved_positions(checkpoint_, group.size());
      if (saved) values.emplace(kPositions, *saved);
    }
    if (seed) values.emplace(kSeed, Array::scalar(*seed + 7919 * step_of(checkpoint_)));
    text = train::pack_values(values);
  }
  train::NamedValues said =
      train::unpack_values(group.broadcast(std::move(text), "what rank 0 goes on from"));
  saves_ = said.at(kSaves).item<bool>();
  save_every_ = said.at(kSaveEvery).item<std::int64_t>();
  if (const auto all = said.find(kPositions); all != said.end()) {
    train::NamedValues positions =
        train::unpack_values(all->second.data<std::string>()[group.rank()]);
    const auto own = positions.extract(kSeed);
    if (own.empty() || own.mapped().dtype() != DType::int64) {
      throw errors::DataLossError("the positions in the checkpoint have no seed",
                                  {.hint = "start over with --restart"});
    }
    restored_ = std::move(positions);
    seed_ = own.mapped().item<std::int64_t>();
  } else if (said.contains(kSeed)) {
    seed_ = (said.at(kSeed).item<std::int64_t>() + 1000003 * group.rank()) & 0x7FFFFFFF;
  }
}

std::string ProcessPositions::why_not_restored(const std::vector<std::string>& files) const {
  for (const train::Saveable& position : positions_) {
    for (const train::SaveSpec& spec : position->specs()) {
      if (!restored_->contains(spec.name)) return "it had fewer towers";
    }
  }
  return train::why_other_input(positions_, files, [&](const std::string& key) {
    const auto found = restored_->find(key);
    return found == restored_->end() ? std::nullopt : std::optional(found->second);
  });
}

Operation ProcessPositions::take(const std::vector<std::string>& files) {
  positions_ = train::training_positions();
  get_default_graph().collections().clear(tf::GraphKeys::SAVEABLE_OBJECTS);
  if (saves_ && group_.rank() == 0) {
    all_ = Variable(Array(DType::string, Shape{group_.size()}),
                    {.trainable = false,
                     .collections = {{tf::GraphKeys::LOCAL_VARIABLES}},
                     .name = "positions_of_processes"});
    tf::add_to_collection(tf::GraphKeys::SAVEABLE_OBJECTS,
                          train::variable_saveable(*all_, positions_key(group_.size())));
  }
  const Operation initialized =
      tf::group({tf::global_variables_initializer(), tf::local_variables_initializer()});
  if (!restored_) return initialized;

  for (const std::string& one :
       group_.all_gather(why_not_restored(files), "whether the input is the same")) {
    if (one.empty()) continue;
    if (group_.rank() == 0) train::warn_of_other_input(checkpoint_, one);
    return initialized;
  }
  const auto after = tf::control_dependencies({initialized});
  return train::set_positions(positions_, *restored_);
}

std::shared_ptr<train::SessionRunHook> ProcessPositions::hook(std::int64_t counts_per_step) const {
  if (!saves_) return nullptr;
  return std::make_shared<GatherHook>(group_, positions_, seed_, all_,
                                      save_every_ * counts_per_step);
}

}  // namespace towerflow::models
