#include "train/saver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/graph/constant.h"
#include "core/graph/log.h"
#include "core/runtime/session.h"
#include "data/file.h"
#include "ops/array/placeholder_with_default.h"
#include "ops/array/view.h"
#include "ops/control/group.h"
#include "train/checkpoint/bundle_format.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/checkpoint/files.h"
#include "train/checkpoint/save_restore.h"

namespace towerflow::train {
namespace {

namespace fs = std::filesystem;

/// Returns the current time in seconds since 1970.
double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Returns an identity of `filename`, colocated with it, that runs after `save`.
Tensor filename_after_save(const Operation& save, const Tensor& filename, Site site) {
  Graph& graph = filename.graph();
  const NameScope scope(graph, "control_dependency", site);
  const ColocationScope beside(graph, &filename.node(), false);
  const ControlDependencies after(graph, std::vector<Node*>{&save.node()});
  return identity(filename, {.name = scope.name()}, site);
}

Tensor add_save(const Tensor& filename, const std::vector<Saveable>& saveables, Site site) {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  for (const Saveable& saveable : saveables) {
    for (const SaveSpec& spec : saveable->specs()) {
      names.push_back(spec.name);
      tensors.push_back(spec.tensor);
    }
  }
  return filename_after_save(save_v2(filename, names, tensors, {}, site), filename, site);
}

Operation add_restore(const Tensor& filename, const std::vector<Saveable>& saveables, Site site) {
  std::vector<RestoreSpec> specs;
  for (const Saveable& saveable : saveables) {
    for (const SaveSpec& spec : saveable->specs())
      specs.push_back({spec.name, spec.tensor.dtype(), spec.tensor.shape()});
  }
  std::vector<Tensor> values;
  {
    const DeviceScope host(filename.graph(), DeviceSpec::parse("cpu:0"));
    values = restore_v2(filename, specs, {}, site);
  }
  std::vector<Operation> restored;
  auto next = values.begin();
  for (const Saveable& saveable : saveables) {
    const auto end = next + static_cast<std::ptrdiff_t>(saveable->specs().size());
    restored.push_back(saveable->restore({next, end}, site));
    next = end;
  }
  return group(restored, {.name = "restore_all"}, site);
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void check_names(const std::string& save_path, const SaverSaveOptions& options) {
  check_path(save_path);
  check_path(options.latest_filename);
  if (fs::path(options.latest_filename).has_parent_path())
    throw ValueError("'latest_filename' must not contain path components",
                     {.hint = "the file is in the folder of the checkpoints"});
  if (!options.global_step && fs::path(save_path).filename() == options.latest_filename)
    throw ValueError(fmt::format("'latest_filename' collides with 'save_path': '{}' and '{}'",
                                 options.latest_filename, save_path));
}

}  // namespace

struct Saver::State {
  struct KeptCheckpoint {
    std::string path;
    double saved = 0;        // seconds since 1970
    bool saved_here = true;  // saved by this Saver, not recovered from a list
  };

  SaverOptions options;
  bool empty = false;
  Tensor filename, saved;
  Operation restored;
  SaverDef def;
  std::vector<KeptCheckpoint> kept;  // oldest first
  std::vector<KeptCheckpoint> to_be_deleted;
  double next_checkpoint_time = 0;  // a checkpoint saved after this time is kept
  bool leftovers_removed = false;   // whether leftovers of killed processes were deleted
  bool warned = false;  // whether the warning about checkpoints outside the folder was logged

  void build(const std::vector<Saveable>& saveables, Site site);
  std::string checkpoint_path(Session& session, const std::string& save_path,
                              const SaverSaveOptions& save_options) const;
  void record(const std::string& path);
  /// Returns the path of the checkpoint to delete after a save to `folder`, the first one of
  /// to_be_deleted. Returns nothing if there is none or if it must stay, in which case it is
  /// removed from to_be_deleted.
  std::optional<std::string> next_to_delete(const std::string& folder);
};

void Saver::State::build(const std::vector<Saveable>& saveables, Site site) {
  Graph& graph = saveables[0]->specs().at(0).tensor.graph();
  const DefaultGraphGuard guard(graph);
  const NameScope scope(graph, options.name.empty() ? "save" : options.name, site);
  const std::string& name = options.filename.empty() ? "model" : options.filename;
  filename = placeholder_with_default(Operand(name, site), Shape{}, {.name = "filename"}, site);
  filename = placeholder_with_default(filename, Shape{}, {.name = "Const"}, site);
  saved = add_save(filename, saveables, site);
  restored = add_restore(filename, saveables, site);
  def = {filename.name(), saved.name(), restored.name()};
}

std::string Saver::State::checkpoint_path(Session& session, const std::string& save_path,
                                          const SaverSaveOptions& save_options) const {
  if (!save_options.global_step) return save_path;
  const std::int64_t step = save_options.global_step->value(session);
  return options.pad_step_number ? fmt::format("{}-{:08d}", save_path, step)
                                 : fmt::format("{}-{}", save_path, step);
}

void Saver::State::record(const std::string& path) {
  if (options.max_to_keep <= 0) return;
  // A state file may spell the same path differently.
  const auto is_same = [&](const KeptCheckpoint& other) {
    return fs::path(other.path).filename() == fs::path(path).filename() &&
           is_in_folder(other.path, parent_of(path));
  };
  std::erase_if(kept, is_same);
  std::erase_if(to_be_deleted, is_same);
  kept.push_back({path, unix_seconds()});
  if (kept.size() <= static_cast<std::size_t>(options.max_to_keep)) return;
  to_be_deleted.push_back(kept.front());
  kept.erase(kept.begin());
}

std::optional<std::string> Saver::State::next_to_delete(const std::string& folder) {
  if (to_be_deleted.empty()) return std::nullopt;
  const KeptCheckpoint& oldest = to_be_deleted.front();
  if (oldest.saved > next_checkpoint_time) {
    next_checkpoint_time += options.keep_checkpoint_every_n_hours * 3600;
  } else if (oldest.saved_here) {
    return oldest.path;
  } else if (is_in_folder(oldest.path, folder)) {
    // Built from `folder`, so that no link in the recorded path can redirect the deletion.
    return (fs::path(folder) / fs::path(oldest.path).filename()).string();
  } else if (!std::exchange(warned, true)) {
    log_message(LogLevel::warning,
                fmt::format("the old checkpoint {} is not deleted: it is not in {} and was not "
                            "saved by this Saver; this warning is not repeated",
                            oldest.path, folder));
  }
  to_be_deleted.erase(to_be_deleted.begin());
  return std::nullopt;
}

GlobalStep::GlobalStep(const Tensor& tensor) : is_number_(false), tensor_(tensor) {}
GlobalStep::GlobalStep(const Variable& variable)
    : is_number_(false), tensor_(*Fetch(variable).tensor()) {}

std::int64_t GlobalStep::value(Session& session) const {
  if (is_number_) return number_;
  const Array step = session.run(tensor_);
  if (step.dtype() == DType::int64) return step.item<std::int64_t>();
  if (step.dtype() == DType::int32) return step.item<std::int32_t>();
  throw TypeError(fmt::format("global_step must be an int32 or int64, it is {}", step.text()));
}

Saver::Saver(SaverOptions options, Site site) : state_(std::make_shared<State>()) {
  const VarList list = options.var_list ? *options.var_list : VarList::all();
  state_->options = std::move(options);
  state_->next_checkpoint_time =
      unix_seconds() + state_->options.keep_checkpoint_every_n_hours * 3600;
  state_->empty = list.empty();
  if (!state_->empty)
    state_->build(list.saveables(), site);
  else if (!state_->options.allow_empty)
    throw ValueError("No variables to save", {.site = site, .hint = list.why_empty()});
}

Saver Saver::from_nodes(const Tensor& filename, const Tensor& saved, const Operation& restored,
                        SaverOptions options) {
  auto state = std::make_shared<State>();
  state->options = std::move(options);
  state->next_checkpoint_time =
      unix_seconds() + state->options.keep_checkpoint_every_n_hours * 3600;
  state->filename = filename;
  state->saved = saved;
  state->restored = restored;
  state->def = {filename.name(), saved.name(), restored.name()};
  return Saver(std::move(state));
}

Saver::Saver(std::initializer_list<SaverItem> var_list, SaverOptions options, Site site)
    : Saver(add_var_list(var_list, std::move(options)), site) {}

Saver::Saver(std::initializer_list<NamedItem> var_list, SaverOptions options, Site site)
    : Saver(add_var_list(var_list, std::move(options)), site) {}

SaverOptions Saver::add_var_list(VarList list, SaverOptions options) {
  options.var_list = std::move(list);
  return options;
}

std::string Saver::save(Session& session, const Text& save_path, const SaverSaveOptions& options,
                        Site site) {
  try {
    return save_values(session, save_path.str(), options);
  } catch (const Error&) {
    rethrow_with({.site = site});
  }
}

std::string Saver::save_values(Session& session, const std::string& save_path,
                               const SaverSaveOptions& options) {
  check_names(save_path, options);
  if (state_->empty) return "";
  const std::string path = state_->checkpoint_path(session, save_path, options);
  const std::string folder = parent_of(save_path);
  std::error_code ignored;
  fs::create_directory(folder, ignored);  // creates only the last level, as TensorFlow does
  if (!std::exchange(state_->leftovers_removed, true)) remove_unlisted_checkpoints(folder);
  auto mark = mark_unlisted(path, options.write_state ? options.latest_filename : "",
                            LockFile::Others::wait);
  try {
    const Array written = session.run(state_->saved, {{state_->filename, Array::scalar(path)}});
    if (written.item<std::string>() != path)
      throw errors::InternalError(fmt::format("saved {} instead of {}", written.text(), path));
  } catch (const errors::OpError& error) {
    const bool about_folder = error.code() == errors::Code::not_found ||
                              error.code() == errors::Code::failed_precondition;
    if (!about_folder || fs::is_directory(folder, ignored)) throw;
    throw ValueError(fmt::format("Parent directory of {} doesn't exist, can't save.", save_path),
                     error.detail());
  }
  if (!options.write_state) return path;
  state_->record(path);
  const std::optional<std::string> old = state_->next_to_delete(folder);
  const std::optional<LockFile> old_mark =
      old ? mark_unlisted(*old, options.latest_filename, LockFile::Others::refuse) : std::nullopt;
  if (mark) mark->set_keep_file(true);  // so that it stays if the state file cannot be written
  update_checkpoint_state(fs::path(save_path).parent_path(), path, last_checkpoints(),
                          {.latest_filename = options.latest_filename,
                           .save_relative_paths = state_->options.save_relative_paths});
  if (mark) mark->set_keep_file(false);
  // A checkpoint that another process is using is left for that process to delete.
  if (old && !(old_mark && old_mark->state() == LockFile::State::taken)) remove_checkpoint(*old);
  if (old) state_->to_be_deleted.erase(state_->to_be_deleted.begin());
  return path;
}

void Saver::restore(Session& session, const std::string& save_path, Site site) const {
  try {
    restore_values(session, save_path);
  } catch (const Error&) {
    rethrow_with({.site = site});
  }
}

void Saver::restore_found(Session& session, const std::optional<std::string>& save_path,
                          Site site) const {
  if (!save_path)
    throw ValueError(
        "Can't load save_path when it is None.",
        {.site = site, .hint = "latest_checkpoint() found no checkpoint in the folder"});
  restore(session, *save_path, site);
}

void Saver::restore_values(Session& session, const std::string& save_path) const {
  if (state_->empty) return;
  if (!checkpoint_exists(save_path))
    throw ValueError(
        "The passed save_path is not a valid checkpoint: " + save_path,
        {.hint = fmt::format("there is no file {}", bundle_index_path(save_path).string())});
  log_message(LogLevel::info, fmt::format("Restoring parameters from {}", save_path));
  const auto failed = [&](const char* cause, const errors::OpError& error) {
    return fmt::format("Restoring from checkpoint {} failed: {}. {}", save_path, cause,
                       error.message());
  };
  try {
    session.run(state_->restored, {{state_->filename, Array::scalar(save_path)}});
  } catch (const errors::NotFoundError& error) {
    throw errors::NotFoundError(
        failed("the graph has a variable name that is not in the checkpoint", error),
        error.detail());
  } catch (const errors::InvalidArgumentError& error) {
    throw errors::InvalidArgumentError(failed("graph and checkpoint do not belong together", error),
                                       error.detail());
  }
}

std::vector<std::string> Saver::last_checkpoints() const {
  std::vector<std::string> paths;
  for (const State::KeptCheckpoint& checkpoint : state_->kept) paths.push_back(checkpoint.path);
  return paths;
}

void Saver::recover_last_checkpoints(const std::vector<std::string>& checkpoint_paths) {
  state_->kept.clear();
  for (const std::string& path : checkpoint_paths) {
    if (path.find('\0') != std::string::npos) continue;
    std::error_code error;
    const auto written = fs::last_write_time(bundle_index_path(path), error);
    if (error) continue;
    const auto age = decltype(written)::clock::now() - written;
    state_->kept.push_back(
        {path, unix_seconds() - std::chrono::duration<double>(age).count(), false});
  }
}

const SaverDef& Saver::as_saver_def() const { return state_->def; }

}  // namespace towerflow::train
