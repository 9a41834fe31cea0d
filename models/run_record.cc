#include "models/run_record.h"

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

void write_run_record(const TrainOptions& options, const TrainResult& result) {
  nlohmann::ordered_json record;
  record["model"] = "mnist";
  record["relu_logits"] = options.net.relu_logits;
  record["towers"] = options.num_towers;
  record["batch_size_per_tower"] = options.batch_size;
  record["epochs"] = options.num_epochs;
  record["steps"] = result.steps;
  record["learning_rate"] = options.learning_rate;
  record["seed"] = options.seed ? nlohmann::ordered_json(*options.seed) : nullptr;
  record["instruction_set"] = simd::level_name(simd::loops().level);
  AtomicFile file(record_path(options.train_dir));
  file.append(record.dump(2) + "\n");
  file.commit();
}

bool trained_with_relu_logits(const std::string& train_dir) {
  const std::string path = record_path(train_dir);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const auto record =
      nlohmann::json::parse(read_file(path, 1 << 20), nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("relu_logits") ||
      !record["relu_logits"].is_boolean()) {
    throw errors::DataLossError("'" + path + "' is no run record",
                                {.hint = "remove it, or say --relu-logits yourself"});
  }
  return record["relu_logits"].get<bool>();
}

}  // namespace towerflow::models::mnist
