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
#include "train/input/input_position.h"
#include "train/input/random_position.h"

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

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto file = std::filesystem::weakly_canonical(a, error);
  return !error && file == std::filesystem::weakly_canonical(b, error) && !error;
}

/// Returns whether what a checkpoint says about an iterator's input is what the saveable says.
bool same_input(const TensorBundleReader& reader, const Saveable& iterator) {
  for (const SaveSpec& spec : iterator->specs()) {
    const auto* said = spec.tensor.op().attrs().get_if<ConstAttrs>();
    if (said == nullptr) continue;
    if (reader.read(spec.name).item<std::string>() != said->value.item<std::string>()) return false;
  }
  return true;
}

/// Returns why the input positions in a checkpoint are of no use: they must be in `files`, or those
/// of iterators of the same input. Empty if they are.
std::string why_other_input(const TensorBundleReader& reader,
                            const std::vector<Saveable>& saveables,
                            std::span<const std::string> files) {
  for (const auto& saveable : saveables) {
    if (!saveable->name().starts_with("_input/")) continue;
    const std::string next = saveable->name() + "/next";  // "file:byte" of a position
    if (!reader.contains(next)) {
      if (!same_input(reader, saveable)) return "its input was different";
      continue;
    }
    const std::string place = reader.read(next).item<std::string>();
    const std::string read = place.substr(0, place.rfind(':'));
    if (!files.empty() && !place.empty() &&
        std::none_of(files.begin(), files.end(),
                     [&](const std::string& file) { return same_file(read, file); })) {
      return "its data were different";
    }
  }
  return "";
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
    const auto listed = get_collection<Saveable>(GraphKeys::SAVEABLE_OBJECTS);
    std::vector<Saveable> positions = input_positions();
    const std::vector<Saveable> drawn = random_positions();
    positions.insert(positions.end(), drawn.begin(), drawn.end());
    for (const Saveable& position : positions) {
      const bool known = std::any_of(listed.begin(), listed.end(), [&](const Saveable& one) {
        return one->name() == position->name();
      });
      if (!known) add_to_collection(GraphKeys::SAVEABLE_OBJECTS, position);
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
  const std::string why = complete ? why_other_input(reader, saveables, input_files)
                                   : std::string("it had fewer towers");
  if (why.empty()) {
    state_->saver->restore(session, checkpoint);
    return;
  }
  log_message(
      LogLevel::warning,
      fmt::format("'{}' holds no input position for this run ({}): the variables are restored, but "
                  "the input starts over",
                  checkpoint, why));
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
