// Checkpoints and training folders, for `towerflow inspect`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>

#include "data/statistics.h"
#include "tools/inspect.h"
#include "tools/progress.h"
#include "tools/text.h"
#include "train/checkpoint/bundle_format.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/checkpoint/checkpoint_state.h"

namespace towerflow::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// A tensor with at most this many values is read, shown and checked even without --values.
constexpr std::int64_t kFewValues = 4;
constexpr std::size_t kNameBytes = 100;

/// A tensor's values, or why they cannot be read.
struct Value {
  std::string text{};
  std::optional<data::Statistics> statistics{};
  ordered_json values = nullptr;  ///< of a small tensor
  std::optional<errors::OpError> problem{};
};

/// Returns whether single values of the dtype can be shown.
bool has_elements(DType dtype) {
  return dtype == DType::string || dispatch_dtype(dtype, []<class T>() {});
}

/// Calls `visit(value)` for each element of a small array.
template <class F>
void for_each_element(const Array& array, F&& visit) {
  if (array.dtype() == DType::string) {
    for (const std::string& value : array.flat<std::string>()) visit(printable(value, 40));
  } else if (array.dtype() == DType::bool_) {
    for (const bool value : array.flat<bool>()) visit(value);
  } else if (is_integer(array.dtype())) {
    dispatch_dtype(array.dtype(), [&]<class T>() {
      if constexpr (std::is_integral_v<T>) {
        for (const T value : array.flat<T>()) visit(+value);
      }
    });
  } else if (array.dtype() == DType::float32) {
    for (const float value : array.flat<float>()) visit(value);
  } else if (array.dtype() == DType::float64) {
    for (const double value : array.flat<double>()) visit(value);
  }
}

void describe_small(const Array& array, Value& value) {
  value.values = ordered_json::array();
  for_each_element(array, [&](const auto& element) {
    value.values.push_back(element);
    const char* quote = array.dtype() == DType::string ? "'" : "";
    value.text += fmt::format("{}{}{}{}", value.text.empty() ? "" : ", ", quote, element, quote);
  });
}

/// Adds the position of the damaged value in its file to an error.
errors::OpError with_position(const errors::OpError& error, const TensorInfo& info) {
  if (error.code() != errors::Code::data_loss) return error;
  return {error.code(),
          fmt::format("{} (its {} begin at byte {})", error.message(), size_text(info.bytes),
                      info.offset),
          error.detail()};
}

Value value_of(const TensorBundleReader& reader, const TensorInfo& info, bool wanted) {
  Value value;
  const bool few = info.shape.elements() <= kFewValues;
  if (info.sliced) value.text = "stored in slices";
  if (info.dtype == DType::invalid) value.text = "an unknown dtype";
  if (!value.text.empty() || !(few || wanted)) return value;
  try {
    const Array array = reader.read(info.name);
    if (few && has_elements(info.dtype)) {
      describe_small(array, value);
    } else if (info.dtype != DType::string && !is_complex(info.dtype)) {
      value.statistics = data::statistics_of(array);
      value.text = statistics_text(*value.statistics, info.dtype);
    }
  } catch (const errors::OpError& error) {
    value.problem = with_position(error, info);
    value.text = "not readable";
  }
  return value;
}

const char* type_text(const TensorInfo& info) {
  return info.dtype == DType::invalid ? "?" : dtype_name(info.dtype);
}

ordered_json tensor_json(const TensorInfo& info, const Value& value) {
  ordered_json json;
  json["name"] = info.name;
  json["dtype"] = type_text(info);
  json["shape"] = info.shape.sizes();
  json["bytes"] = info.bytes;
  json["shard"] = info.shard;
  json["offset"] = info.offset;
  if (info.sliced) json["sliced"] = true;
  if (!value.values.is_null()) json["values"] = value.values;
  if (value.statistics) json["statistics"] = statistics_json(*value.statistics, info.dtype);
  if (value.problem) json["damage"] = value.problem->message();
  return json;
}

/// Prints the tensors as a table and adds them to `findings`.
void print_tensors(const TensorBundleReader& reader, const InspectOptions& options,
                   Findings& findings) {
  const std::vector<TensorInfo>& tensors = reader.tensors();
  TextTable table("lllrl");
  table.add({"tensor", "dtype", "shape", "size", "values"});
  findings.json["tensors"] = ordered_json::array();
  std::int64_t unreadable = 0;
  Progress progress("reading");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& info = tensors[i];
    const Value value = value_of(reader, info, options.values);
    progress.update(static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(tensors.size()));
    findings.json["tensors"].push_back(tensor_json(info, value));
    if (value.problem) {
      ++unreadable;
      if (!findings.damage) findings.damage = value.problem;
    }
    if (options.all || i < kShownRows || value.problem) {
      table.add({printable(info.name, kNameBytes), type_text(info), info.shape.text(),
                 size_text(info.bytes), value.text});
    }
  }
  progress.finish();
  fmt::print("{}{}", table.text(), omitted_rows_text(tensors.size(), options));
  if (unreadable > 0) fmt::print("Damaged: {} not readable.\n", count_text(unreadable, "tensor"));
}

/// Prints one checkpoint: its header and its tensors.
Findings print_bundle(const fs::path& prefix, const InspectOptions& options) {
  const TensorBundleReader reader(prefix);
  std::uint64_t bytes = 0;
  std::set<int> shards;
  for (const TensorInfo& info : reader.tensors()) {
    if (!info.sliced) shards.insert(info.shard);
    bytes += info.bytes;
  }
  fmt::print("{}: checkpoint, {}, {} in {}\n", prefix.string(),
             count_text(reader.tensors().size(), "tensor"), size_text(bytes),
             count_text(static_cast<std::uint64_t>(reader.shards()), "data file"));
  Findings findings;
  findings.json["file"] = prefix.string();
  findings.json["kind"] = "checkpoint";
  findings.json["data_files"] = reader.shards();
  findings.json["bytes"] = bytes;
  for (const int shard : shards) {
    const fs::path file = bundle_data_path(prefix, shard, reader.shards());
    std::error_code ignored;
    if (fs::exists(file, ignored)) continue;
    fmt::print("Damaged: {} is missing.\n", file.string());
    findings.damage = errors::NotFoundError(
        fmt::format("{} is missing", file.string()),
        {.hint = "a checkpoint is its .index file and every .data file beside it"});
    findings.json["damage"] = findings.damage->message();
    break;
  }
  print_tensors(reader, options, findings);
  return findings;
}

/// Returns PREFIX of PREFIX.data-00000-of-00001; nothing for other names.
std::optional<fs::path> prefix_of_data(const fs::path& path) {
  static constexpr std::string_view kForm = ".data-00000-of-00000";
  const std::string name = path.string();
  if (name.size() <= kForm.size()) return std::nullopt;
  const std::string_view end = std::string_view(name).substr(name.size() - kForm.size());
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = end[i] >= '0' && end[i] <= '9';
    if (kForm[i] == '0' ? !digit : end[i] != kForm[i]) return std::nullopt;
  }
  return name.substr(0, name.size() - kForm.size());
}

bool has_index(const fs::path& prefix) {
  std::error_code ignored;
  return fs::is_regular_file(bundle_index_path(prefix), ignored);
}

/// Returns the prefix of the subject's checkpoint; nothing, with the reason, if it is not part of
/// one.
std::optional<fs::path> prefix_of(const Subject& subject, std::string& why_not) {
  static constexpr std::string_view kTableEnd = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
  if (!subject.file) {
    if (!subject.folder && has_index(subject.path)) return subject.path;
    why_not = subject.folder ? "this is a folder"
                             : bundle_index_path(subject.path).string() + " does not exist";
    return std::nullopt;
  }
  if (subject.end == kTableEnd) {
    if (subject.path.extension() == ".index") return fs::path(subject.path).replace_extension();
    why_not = "this is an index, but its name does not end in .index, so its data is not found";
    return std::nullopt;
  }
  if (const auto prefix = prefix_of_data(subject.path)) {
    if (has_index(*prefix)) return prefix;
    why_not = bundle_index_path(*prefix).string() + " does not exist";
    return std::nullopt;
  }
  why_not = "the last 8 bytes are not those of an index";
  return std::nullopt;
}

/// A checkpoint that a training folder has or had.
struct ListedCheckpoint {
  fs::path prefix;
  double time = 0;  ///< seconds since 1970, 0 if unknown
  bool exists = false;
};

double time_of(const fs::path& file) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(file, error);
  if (error) return 0;
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

ListedCheckpoint kept_checkpoint(const fs::path& prefix) {
  return {
      .prefix = prefix, .time = time_of(bundle_index_path(prefix)), .exists = has_index(prefix)};
}

/// Returns the checkpoints in the state file, the newest last; if it is missing or damaged, the
/// folder's checkpoints, sorted by time.
std::vector<ListedCheckpoint> checkpoints_of(const fs::path& folder, const std::string& state_name,
                                             bool& has_state) {
  constexpr std::size_t kMost = 10000;
  std::vector<ListedCheckpoint> found;
  const auto state = train::get_checkpoint_state(folder, state_name);
  has_state = state.has_value();
  if (state) {
    for (const std::string& prefix : state->all_model_checkpoint_paths)
      found.push_back(kept_checkpoint(prefix));
    const auto newest =
        std::ranges::find(found, fs::path(state->model_checkpoint_path), &ListedCheckpoint::prefix);
    if (newest == found.end())
      found.push_back(kept_checkpoint(state->model_checkpoint_path));
    else
      std::rotate(newest, newest + 1, found.end());
    return found;
  }
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end;
       !error && entry != end && found.size() < kMost; entry.increment(error)) {
    if (entry->path().extension() == ".index")
      found.push_back(kept_checkpoint(fs::path(entry->path()).replace_extension()));
  }
  std::ranges::stable_sort(
      found, {}, [](const ListedCheckpoint& one) { return std::pair(one.time, one.prefix); });
  return found;
}

ordered_json kept_json(const ListedCheckpoint& one, bool newest) {
  ordered_json json;
  json["prefix"] = one.prefix.string();
  json["exists"] = one.exists;
  if (one.time > 0) json["time"] = one.time;
  json["newest"] = newest;
  return json;
}

void print_list(const std::vector<ListedCheckpoint>& all) {
  TextTable table("lll");
  table.add({"checkpoint", "written", "state"});
  for (const ListedCheckpoint& one : all) {
    const bool newest = &one == &all.back();
    table.add({printable(one.prefix.string(), kNameBytes), one.time > 0 ? time_text(one.time) : "",
               one.exists ? newest ? "newest" : "" : "gone"});
  }
  fmt::print("{}", table.text());
}

/// Returns the folder, and the name of the state file in it.
std::pair<fs::path, std::string> folder_and_state_file(const Subject& subject) {
  if (subject.folder) return {subject.path, "checkpoint"};
  const fs::path folder = subject.path.parent_path();
  return {folder.empty() ? fs::path(".") : folder, subject.path.filename().string()};
}

}  // namespace

std::string why_not_checkpoint(const Subject& subject) {
  std::string why_not;
  prefix_of(subject, why_not);
  return why_not;
}

Findings print_checkpoint(const Subject& subject, const InspectOptions& options) {
  std::string why_not;
  return print_bundle(prefix_of(subject, why_not).value(), options);
}

std::string why_not_train_dir(const Subject& subject) {
  if (!subject.folder && !subject.file) return "there is no such folder";
  if (subject.file) {
    const std::size_t text = subject.start.find_first_not_of(" \n");
    if (text != std::string::npos && subject.start.find("model_checkpoint_path", text) == text)
      return "";
    return "this is a file";
  }
  std::error_code ignored;
  if (fs::exists(subject.path / "checkpoint", ignored)) return "";
  bool has_state = false;
  if (!checkpoints_of(subject.path, "checkpoint", has_state).empty()) return "";
  return "it holds neither a file `checkpoint` nor an .index";
}

Findings print_train_dir(const Subject& subject, const InspectOptions& options) {
  const auto [folder, state_name] = folder_and_state_file(subject);
  bool has_state = false;
  const std::vector<ListedCheckpoint> all = checkpoints_of(folder, state_name, has_state);
  fmt::print("{}: training folder, {}{}\n", folder.string(), count_text(all.size(), "checkpoint"),
             has_state ? "" : ", no readable state file: the newest by its time");
  Findings findings;
  findings.json["file"] = subject.path.string();
  findings.json["kind"] = "training folder";
  findings.json["state_file"] = has_state;
  findings.json["checkpoints"] = ordered_json::array();
  for (const ListedCheckpoint& one : all)
    findings.json["checkpoints"].push_back(kept_json(one, &one == &all.back()));
  if (all.empty()) {
    findings.damage = errors::NotFoundError(
        fmt::format("{} does not name a readable checkpoint", (folder / state_name).string()));
    return findings;
  }
  print_list(all);
  if (!all.back().exists) {
    findings.damage = errors::NotFoundError(
        fmt::format("the newest checkpoint, {}, is gone", all.back().prefix.string()));
    return findings;
  }
  fmt::print("\n");
  Findings newest = print_bundle(all.back().prefix, options);
  findings.json["newest"] = std::move(newest.json);
  findings.damage = std::move(newest.damage);
  return findings;
}

}  // namespace towerflow::tools
