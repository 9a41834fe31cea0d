#include "train/checkpoint/checkpoint_utils.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "ops/variables/assign.h"
#include "ops/variables/variable_store.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/checkpoint/save_restore.h"

namespace towerflow::train {
namespace {

/// Returns the newest checkpoint of a folder, nothing if it has none; any other path unchanged.
std::optional<std::string> checkpoint_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? latest_checkpoint(path)
                                                      : std::optional(path);
}

/// Sets variables to values of one checkpoint.
class CheckpointAssignment {
 public:
  CheckpointAssignment(const std::string& path, Site site)
      : path_(path),
        shapes_(load_checkpoint(path).get_variable_to_shape_map()),
        file_(*checkpoint_file(path)),
        site_(site) {}

  void assign_variable(const Variable& variable, const std::string& key) const {
    check_whole(variable);
    const auto found = shapes_.find(key);
    if (found == shapes_.end()) {
      throw ValueError(fmt::format("Tensor {} is not found in {} checkpoint", key, path_),
                       {.site = site_, .hint = "list_variables gives the names in a checkpoint"});
    }
    if (!variable.shape().compatible(found->second)) {
      throw ValueError(
          fmt::format("Shape of variable {} ({}) doesn't match with shape of tensor {} ({}) from "
                      "checkpoint reader.",
                      variable.name(), variable.shape().text(), key, found->second.text()),
          {.site = site_});
    }
    set(variable, key);
  }

  /// Sets all variables of the scope `target` from those of the scope `source`.
  void assign_scope(const std::string& target, const std::string& source) const {
    const std::size_t slash = target.rfind('/');
    const std::string scope = slash == std::string::npos ? "" : target.substr(0, slash);
    if (!source.ends_with('/')) {
      throw ValueError(
          fmt::format("Assignment map with scope only name {} should map to scope "
                      "only {}. Should be 'scope/': 'other_scope/'.",
                      scope, source),
          {.site = site_,
           .hint = fmt::format("there is no variable '{}' made by get_variable", target)});
    }
    for (const auto& [name, variable] : store().variables()) {
      if (!scope.empty() && !name.starts_with(scope + "/")) continue;
      std::string key = name.substr(scope.size());
      if (target != "/") key = key.substr(std::min<std::size_t>(1, key.size()));
      if (source != "/") key = source + key;
      if (key.ends_with('/')) key.pop_back();
      if (!shapes_.contains(key)) {
        throw ValueError(fmt::format("Tensor {} ({} in {}) is not found in {} checkpoint", key,
                                     name, source, path_),
                         {.site = site_, .hint = "list_variables gives the names in a checkpoint"});
      }
      set(variable, key);
    }
  }

  static const VariableStore& store() { return get_default_graph().extension<VariableStore>(); }

 private:
  void check_whole(const Variable& variable) const {
    if (variable.partitioned() || variable.save_slice_info()) {
      throw errors::UnimplementedError(
          fmt::format("{} has parts, which init_from_checkpoint does not set", variable.name()),
          {.site = site_, .hint = "a variable without a partitioner can be set"});
    }
  }

  void set(const Variable& variable, const std::string& key) const {
    check_whole(variable);
    Tensor restored;
    {
      const DeviceScope beside = device(variable.device(), site_);
      const DeviceScope host = device("/cpu:0", site_);
      const RestoreSpec spec{key, variable.dtype(), variable.shape()};
      restored = restore_v2(file_, {spec}, {.name = "checkpoint_initializer"}, site_).at(0);
    }
    const ColocationScope beside(variable.graph(), &variable.op().node(), false);
    const Tensor set = assign(variable, restored, {}, site_);
    replace_initializer(variable, set.op(), restored);
  }

  const std::string& path_;
  std::map<std::string, Shape> shapes_;
  std::string file_;
  Site site_;
};

}  // namespace

namespace types {

CheckpointReader::CheckpointReader(const Text& filepattern)
    : reader_(std::make_shared<const TensorBundleReader>(std::string(filepattern))) {}

bool CheckpointReader::has_tensor(const std::string& name) const { return reader_->contains(name); }
Array CheckpointReader::get_tensor(const std::string& name) const { return reader_->read(name); }

std::map<std::string, Shape> CheckpointReader::get_variable_to_shape_map() const {
  std::map<std::string, Shape> shapes;
  for (const TensorInfo& info : reader_->tensors()) shapes.emplace(info.name, info.shape);
  return shapes;
}

std::map<std::string, DType> CheckpointReader::get_variable_to_dtype_map() const {
  std::map<std::string, DType> dtypes;
  for (const TensorInfo& info : reader_->tensors()) dtypes.emplace(info.name, info.dtype);
  return dtypes;
}

}  // namespace types

CheckpointReader load_checkpoint(const Text& ckpt_dir_or_file) {
  const std::string path(ckpt_dir_or_file);
  const auto file = checkpoint_file(path);
  if (!file) {
    throw ValueError(
        fmt::format("Couldn't find 'checkpoint' file or checkpoints in given directory {}", path));
  }
  return CheckpointReader(*file);
}

Array load_variable(const Text& ckpt_dir_or_file, const std::string& name) {
  const bool of_tensor = name.ends_with(":0");
  return load_checkpoint(ckpt_dir_or_file)
      .get_tensor(of_tensor ? name.substr(0, name.size() - 2) : name);
}

std::vector<std::pair<std::string, Shape>> list_variables(const Text& ckpt_dir_or_file) {
  const auto shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map();
  return {shapes.begin(), shapes.end()};
}

void init_from_checkpoint(const Text& ckpt_dir_or_file, const AssignmentMap& assignment_map,
                          Site site) {
  const std::string path(ckpt_dir_or_file);
  const CheckpointAssignment assignment(path, site);
  auto items = assignment_map.items();
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, target] : items) {
    if (const auto* variable = std::get_if<Variable>(&target)) {
      assignment.assign_variable(*variable, key);
      continue;
    }
    const auto& name = std::get<std::string>(target);
    const auto& variables = CheckpointAssignment::store().variables();
    const auto found = variables.find(name);
    if (found != variables.end()) {
      assignment.assign_variable(found->second, key);
    } else {
      assignment.assign_scope(name, key);
    }
  }
}

std::optional<std::string> wait_for_new_checkpoint(
    const Text& checkpoint_dir, const std::optional<std::string>& last_checkpoint,
    WaitForCheckpointOptions options) {
  using Clock = std::chrono::steady_clock;
  const std::string folder(checkpoint_dir);
  log_message(LogLevel::info, fmt::format("Waiting for new checkpoint at {}", folder));
  const Clock::time_point start = Clock::now();
  for (;;) {
    const auto newest = latest_checkpoint(folder);
    if (newest && newest != last_checkpoint) {
      log_message(LogLevel::info, fmt::format("Found new checkpoint at {}", *newest));
      return newest;
    }
    const std::chrono::duration<double> passed = Clock::now() - start;
    if (options.timeout && passed.count() + options.seconds_to_sleep > *options.timeout) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds_to_sleep));
  }
}

}  // namespace towerflow::train
