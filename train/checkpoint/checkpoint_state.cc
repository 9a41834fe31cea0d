#include "train/checkpoint/checkpoint_state.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <filesystem>
#include <system_error>

#include "core/graph/error.h"
#include "core/graph/log.h"
#include "data/file.h"
#include "train/checkpoint/checkpoint_state.pb.h"
#include "train/checkpoint/files.h"

namespace towerflow::train {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = 16 << 20;

// protobuf builds a message's descriptor when its text is first read or written. If memory runs out
// then, each later use reads through a null pointer, so build it before the program begins.
[[maybe_unused]] const auto* const kDescribed = proto::CheckpointState::descriptor();

/// Keeps the first error; the default collector writes all of them to stderr.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
  }
  std::string text;
};

fs::path normalized_absolute(const fs::path& path) {
  return (fs::current_path() / path).lexically_normal();
}

/// Returns `path` relative to `folder`, both taken from the working directory. Lexical: links are
/// not followed.
std::string relative_path(const fs::path& path, const fs::path& folder) {
  return normalized_absolute(path).lexically_relative(normalized_absolute(folder)).string();
}

std::string stored_path(const std::string& path, const fs::path& save_dir, bool relative) {
  if (fs::path(path).is_absolute()) return relative ? relative_path(path, save_dir) : path;
  return save_dir.is_absolute() ? path : relative_path(path, save_dir);
}

void warn_ignored(const fs::path& file, std::string_view why) {
  log_message(LogLevel::warning, fmt::format("{} is ignored: {}", file.string(), why));
}

/// Returns the parsed file; nothing, with a warning, if that fails.
std::optional<proto::CheckpointState> parsed_state(const fs::path& file) {
  std::string text;
  try {
    check_regular_file(file);
    text = read_file(file, kMaxFileBytes);
  } catch (const errors::OpError& error) {
    warn_ignored(file, error.message());
    return std::nullopt;
  }
  proto::CheckpointState state;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(text, &state)) return state;
  warn_ignored(file, error.text);
  return std::nullopt;
}

}  // namespace

void update_checkpoint_state(const std::string& save_dir, const Text& newest,
                             std::span<const std::string> paths,
                             const UpdateCheckpointStateOptions& options) {
  std::vector<std::string> all_model_checkpoint_paths(paths.begin(), paths.end());
  const std::string& model_checkpoint_path = newest;
  check_path(save_dir);
  check_path(options.latest_filename);
  check_path(model_checkpoint_path);
  const auto& timestamps = options.all_model_checkpoint_timestamps;
  if (all_model_checkpoint_paths.empty() ||
      all_model_checkpoint_paths.back() != model_checkpoint_path)
    all_model_checkpoint_paths.push_back(model_checkpoint_path);
  if (!timestamps.empty() && timestamps.size() != all_model_checkpoint_paths.size())
    throw ValueError(fmt::format("{} checkpoint paths but {} timestamps",
                                 all_model_checkpoint_paths.size(), timestamps.size()));

  proto::CheckpointState state;
  const auto stored = [&](const std::string& path) {
    return stored_path(path, save_dir, options.save_relative_paths);
  };
  state.set_model_checkpoint_path(stored(model_checkpoint_path));
  for (const std::string& path : all_model_checkpoint_paths)
    state.add_all_model_checkpoint_paths(stored(path));
  for (const double timestamp : timestamps) state.add_all_model_checkpoint_timestamps(timestamp);
  state.set_last_preserved_timestamp(options.last_preserved_timestamp);

  const fs::path file = fs::path(save_dir) / options.latest_filename;
  if (file == fs::path(model_checkpoint_path) || file == fs::path(state.model_checkpoint_path()))
    throw RuntimeError(fmt::format("the save path '{}' is the path of the checkpoint state file",
                                   model_checkpoint_path),
                       {.hint = "choose a different save path"});
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  if (!printer.PrintToString(state, &text))
    throw errors::InternalError(fmt::format("cannot print the state for {}", file.string()));
  AtomicFile out(file);
  out.append(std::string_view(text));
  out.commit();
}

std::optional<CheckpointState> get_checkpoint_state(const std::string& checkpoint_dir,
                                                    const std::string& latest_filename) {
  const fs::path folder = checkpoint_dir;
  const fs::path file = folder / latest_filename;
  check_path(file);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  const std::optional<proto::CheckpointState> parsed = parsed_state(file);
  if (!parsed) return std::nullopt;
  if (parsed->model_checkpoint_path().empty())
    throw ValueError(fmt::format("{} names no checkpoint", file.string()));
  // Joining leaves an absolute path unchanged.
  const auto full_path = [&](const std::string& path) { return (folder / path).string(); };
  CheckpointState state;
  state.model_checkpoint_path = full_path(parsed->model_checkpoint_path());
  for (const std::string& path : parsed->all_model_checkpoint_paths())
    state.all_model_checkpoint_paths.push_back(full_path(path));
  state.all_model_checkpoint_timestamps.assign(parsed->all_model_checkpoint_timestamps().begin(),
                                               parsed->all_model_checkpoint_timestamps().end());
  state.last_preserved_timestamp = parsed->last_preserved_timestamp();
  return state;
}

std::optional<std::string> latest_checkpoint(const std::string& checkpoint_dir,
                                             const std::string& latest_filename) {
  const auto state = get_checkpoint_state(checkpoint_dir, latest_filename);
  if (!state) return std::nullopt;
  const std::string& path = state->model_checkpoint_path;
  if (checkpoint_exists(path)) return path;
  log_message(LogLevel::warning, fmt::format("no files found for the checkpoint {}", path));
  return std::nullopt;
}

}  // namespace towerflow::train
