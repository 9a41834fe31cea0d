#include "models/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "ops/simd/loops.h"

namespace towerflow::models {
namespace {

std::string record_path(const std::string& train_dir) {
  return (std::filesystem::path(train_dir) / "run.json").string();
}

/// Returns an option's name in the record: "relu_logits".
std::string key_of(const ModelOption& option) {
  std::string key = option.name;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

/// Returns a value of the kind of `like`; none if `json` is of another kind.
std::optional<OptionValue> option_from(const nlohmann::json& json, const OptionValue& like) {
  return std::visit(
      [&]<class T>(const T&) -> std::optional<OptionValue> {
        constexpr bool kFlag = std::is_same_v<T, bool>, kText = std::is_same_v<T, std::string>;
        const bool fits = kFlag   ? json.is_boolean()
                          : kText ? json.is_string()
                                  : json.is_number_integer();
        return fits ? std::optional<OptionValue>(json.get<T>()) : std::nullopt;
      },
      like);
}

}  // namespace

void write_run_record(const Model& model, const TrainOptions& options, const std::string& data_file,
                      std::int64_t steps) {
  nlohmann::ordered_json record;
  record["model"] = model.name;
  for (const ModelOption& option : model.options) {
    if (!option.kept) continue;
    std::visit([&](const auto& value) { record[key_of(option)] = value; },
               option_value(model, options.values, option.name));
  }
  record["towers"] = options.num_towers;
  record["batch_size_per_tower"] = options.batch_size;
  record["epochs"] = options.num_epochs;
  record["steps"] = steps;
  record["learning_rate"] = options.learning_rate.value_or(model.learning_rate);
  record["seed"] = options.seed ? nlohmann::ordered_json(*options.seed) : nullptr;
  record["data_file"] = data_file;
  record["instruction_set"] = simd::level_name(simd::loops().level);
  AtomicFile file(record_path(options.train_dir));
  file.append(record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  file.commit();
}

std::optional<RunRecord> read_run_record(const Model& model, const std::string& train_dir) {
  const std::string path = record_path(train_dir);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  check_regular_file(path);
  const auto json =
      nlohmann::json::parse(read_file(path, 1 << 20), nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* key, auto is_kind) {
    return json.contains(key) && is_kind(json[key]);
  };
  RunRecord record;
  record.model = model.name;
  if (has("model", [](const auto& value) { return value.is_string(); })) {
    record.model = json["model"].get<std::string>();
  }
  if (record.model != model.name) {
    throw ValueError(
        fmt::format("'{}' holds a training of '{}', not of '{}'", train_dir, record.model,
                    model.name),
        {.hint = "choose another --train-dir; a training can also start over with --restart"});
  }
  bool whole = json.is_object() && json.contains("model");
  std::string hint = "remove it";
  for (const ModelOption& option : model.options) {
    if (!option.kept) continue;
    // The record of an older version lacks options that the model has got since, whose defaults do
    // what it did.
    const std::string key = key_of(option);
    const auto value =
        json.contains(key) ? option_from(json[key], option.value) : std::optional(option.value);
    whole = whole && value;
    if (whole) record.values[option.name] = *value;
    hint += fmt::format("; evaluations then need --{} if the training had it", option.name);
  }
  if (!whole) throw errors::DataLossError("'" + path + "' is not a run record", {.hint = hint});
  if (has("data_file", [](const auto& value) { return value.is_string(); })) {
    record.data_file = json["data_file"].get<std::string>();
  }
  if (has("seed", [](const auto& value) { return value.is_number_integer(); })) {
    if (json["seed"].is_number_unsigned() && json["seed"].get<std::uint64_t>() > INT64_MAX) {
      throw errors::DataLossError(
          fmt::format("'{}' has the seed {}, which is out of range", path, json["seed"].dump()),
          {.hint = "correct it, or start over with --restart"});
    }
    record.seed = json["seed"].get<std::int64_t>();
  }
  return record;
}

}  // namespace towerflow::models
