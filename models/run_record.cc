#include "models/run_record.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "ops/simd/loops.h"

namespace towerflow::models::mnist {
namespace {

std::string record_path(const std::string& train_dir) {
  return (std::filesystem::path(train_dir) / "run.json").string();
}

}  // namespace

void write_run_record(const TrainOptions& options, const std::string& data_file,
                      std::int64_t steps) {
  nlohmann::ordered_json record;
  record["model"] = "mnist";
  record["relu_logits"] = options.net.relu_logits;
  record["towers"] = options.num_towers;
  record["batch_size_per_tower"] = options.batch_size;
  record["epochs"] = options.num_epochs;
  record["steps"] = steps;
  record["learning_rate"] = options.learning_rate;
  record["seed"] = options.seed ? nlohmann::ordered_json(*options.seed) : nullptr;
  record["data_file"] = data_file;
  record["instruction_set"] = simd::level_name(simd::loops().level);
  AtomicFile file(record_path(options.train_dir));
  file.append(record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  file.commit();
}

std::optional<RunRecord> read_run_record(const std::string& train_dir) {
  const std::string path = record_path(train_dir);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  check_regular_file(path);
  const auto json =
      nlohmann::json::parse(read_file(path, 1 << 20), nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* key, auto is_kind) {
    return json.contains(key) && is_kind(json[key]);
  };
  if (!json.is_object() ||
      !has("relu_logits", [](const auto& value) { return value.is_boolean(); })) {
    throw errors::DataLossError("'" + path + "' is no run record",
                                {.hint = "remove it; an evaluation then wants --relu-logits if the "
                                         "run had it"});
  }
  RunRecord record{.relu_logits = json["relu_logits"].get<bool>()};
  if (has("seed", [](const auto& value) { return value.is_number_integer(); })) {
    if (json["seed"].is_number_unsigned() && json["seed"].get<std::uint64_t>() > INT64_MAX) {
      throw errors::DataLossError(
          fmt::format("'{}' has the seed {}, which no run can have had", path, json["seed"].dump()),
          {.hint = "correct it, or begin anew with --restart"});
    }
    record.seed = json["seed"].get<std::int64_t>();
  }
  return record;
}

}  // namespace towerflow::models::mnist
