#include "train/training_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/graph/collections.h"
#include "core/graph/constant.h"
#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "data/file.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/folder_lock.h"
#include "train/input/training_positions.h"

namespace towerflow::train {
namespace {

/// The state file while its checkpoints are being replaced: they are not resumed from, but remain
/// to be deleted.
constexpr const char* kReplacedState = "checkpoint.replaced";

void set_aside_state(const std::string& path) {
  const std::filesystem::path folder = path;
  std::error_code error;
  std::filesystem::rename(folder / "checkpoint", folder / kReplacedState, error);
  if (error) raise_file_error(error.value(), "rename to", folder / kReplacedState);
}

/// Returns the state of an earlier run, or the one set aside by a run killed before its first save.
std::optional<CheckpointState> listed_checkpoints(const std::string& path) {
  const auto state = get_checkpoint_state(path);
  return state ? state : get_checkpoint_state(path, kReplacedState);
}

/// Returns whether the checkpoint is of a training in several processes, or should be of one.
bool concerns_processes(const TensorBundleReader& reader, const std::vector<Saveable>& saveables) {
  const auto of_processes = [](const std::string& name) {
    return name.starts_with(kPositionsOfProcesses);
  };
  return std::any_of(reader.tensors().begin(), reader.tensors().end(),
                     [&](const TensorInfo& tensor) { return of_processes(tensor.name); }) ||
         std::any_of(saveables.begin(), saveables.end(),
                     [&](const Saveable& saveable) { return of_processes(saveable->name()); });
}

FolderLock make_and_lock_folder(const std::string& path) {
  make_folder(path);
  return FolderLock(path);
}

}  // namespace

namespace types {

struct TrainingFolder::State {
  State(std::string folder, const TrainingFolderOptions& options)
      : path(std::move(folder)), lock(make_and_lock_folder(path)) {
    const auto found = latest_checkpoint(path);
    replaces = found && options.restart;
    if (found && !replaces) resumed_from = *found;
  }

  std::string path;
  FolderLock lock;  // taken before reading anything that another run may change
  std::string resumed_from, checkpoint;
  bool replaces = false;
  std::optional<Saver> saver;
};

CheckpointSaverListener::~CheckpointSaverListener() = default;

TrainingFolder::TrainingFolder(const Text& path, TrainingFolderOptions options)
    : state_(path.str().empty() ? nullptr : std::make_shared<State>(path.str(), options)) {}

const std::string& TrainingFolder::path() const { return state_->path; }
const std::string& TrainingFolder::resumed_from() const { return state_->resumed_from; }
bool TrainingFolder::replaces() const { return state_->replaces; }
const std::string& TrainingFolder::checkpoint() const { return state_->checkpoint; }

void TrainingFolder::use(std::optional<Saver> saver) {
  if (state_->saver) return;
  if (!saver) {
    const std::vector<Saveable> positions = training_positions();
    get_default_graph().collections().clear(GraphKeys::SAVEABLE_OBJECTS);
    for (const Saveable& position : positions) {
      add_to_collection(GraphKeys::SAVEABLE_OBJECTS, position);
    }
    saver = Saver();
  }
  state_->saver = saver;
  if (const auto listed = listed_checkpoints(state_->path)) {
    state_->saver->recover_last_checkpoints(listed->all_model_checkpoint_paths);
  }
}

const std::optional<Saver>& TrainingFolder::saver() const { return state_->saver; }

void TrainingFolder::restore(Session& session, std::span<const std::string> input_files) {
  const std::string& checkpoint = state_->checkpoint = state_->resumed_from;
  const TensorBundleReader reader(checkpoint);
  const auto is_in_checkpoint = [&](const Saveable& saveable) {
    const auto& specs = saveable->specs();
    return std::all_of(specs.begin(), specs.end(),
                       [&](const auto& spec) { return reader.contains(spec.name); });
  };
  const auto saveables = VarList::all().saveables();
  const bool complete = std::all_of(saveables.begin(), saveables.end(), is_in_checkpoint);
  std::string why;
  if (complete) {
    why = why_other_input(saveables, input_files, [&](const std::string& key) {
      return reader.contains(key) ? std::optional(reader.read(key)) : std::nullopt;
    });
  } else {
    why = concerns_processes(reader, saveables) ? "it had another number of processes"
                                                : "it had fewer towers";
  }
  if (why.empty()) {
    state_->saver->restore(session, checkpoint);
    return;
  }
  warn_of_other_input(checkpoint, why);
  Saver({.var_list = global_variables()}).restore(session, checkpoint);
}

std::string TrainingFolder::save(
    Session& session, std::int64_t global_step,
    std::span<const std::shared_ptr<CheckpointSaverListener>> listeners) {
  // The old checkpoints are current until now. From here on, having no checkpoint is better than
  // having one that does not match what the listeners write beside it.
  if (std::exchange(state_->replaces, false)) set_aside_state(state_->path);
  for (const auto& listener : listeners) listener->before_save(session, global_step);
  state_->checkpoint =
      state_->saver->save(session, state_->path + "/model.ckpt", {.global_step = global_step});
  delete_file(state_->path + "/" + kReplacedState);  // the new state file lists them
  for (const auto& listener : listeners) listener->after_save(session, global_step);
  return state_->checkpoint;
}

}  // namespace types
}  // namespace towerflow::train
