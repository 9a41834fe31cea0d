#include "tools/model_options.h"

#include "core/graph/all_reduce_schedule.h"
#include "models/models.h"
#include "tools/command.h"

namespace towerflow::tools {

CLI::App& add_model_commands(CLI::App& app, const char* name, const char* about, const char* help,
                             void (*add)(CLI::App& parent, const models::Model& model)) {
  CLI::App& command = add_subcommand(app, name, about, help);
  require_subcommand(command);
  for (const models::Model* model : models::all()) add(command, *model);
  return command;
}

void add_batch_size(CLI::App& app, const models::Model& model, std::int64_t& batch_size) {
  batch_size = model.batch_size;
  add_integer(app, "--batch-size", batch_size,
              model.split_batch ? "examples a step, which the towers divide"
                                : "examples a step for each tower");
}

void add_model_options(CLI::App& app, const models::Model& model, models::OptionValues& values,
                       bool all) {
  for (const models::ModelOption& option : model.options) {
    if (!option.taken_by_training() && !all) continue;
    models::OptionValue& value = values[option.name] = option.value;
    const std::string name = "--" + option.name;
    if (auto* number = std::get_if<std::int64_t>(&value)) {
      add_integer(app, name, *number, option.about, {.least = option.least, .most = option.most});
    } else if (auto* text = std::get_if<std::string>(&value)) {
      if (option.choices.empty()) {
        add_text(app, name, *text, option.about);
      } else {
        add_choice(app, name, *text, option.about, option.choices);
      }
    } else {
      add_flag(app, name, std::get<bool>(value), option.about);
    }
  }
}

void add_all_reduce(CLI::App& app, models::DeviceOptions& options) {
  std::vector<std::string> words;
  for (const auto& [algorithm, word] : kAllReduceNames) words.emplace_back(word);
  add_choice(
      app, "--all-reduce",
      [&options](const std::string& given) {
        for (const auto& [algorithm, word] : kAllReduceNames) {
          if (given == word) options.all_reduce.algorithm = algorithm;
        }
      },
      "how replicated accelerators average gradients; auto when not given: nccl between GPUs that "
      "are different cards, otherwise gather",
      words);
}

void check_variable_update(const models::DeviceOptions& options) {
  const bool replicated = options.home == VariableHome::mirrored;
  if (replicated && !models::has_accelerators(options)) {
    throw UsageError(
        "--variable-update replicated needs accelerators, such as --devices sim:2; on CPUs the "
        "towers share host memory");
  }
  if (!replicated && options.all_reduce.algorithm != models::DeviceOptions().all_reduce.algorithm) {
    throw UsageError("--all-reduce belongs to --variable-update replicated");
  }
}

void add_variable_update(CLI::App& app, models::DeviceOptions& options) {
  add_choice(
      app, "--variable-update",
      [&options](const std::string& word) {
        if (word == "replicated") options.home = VariableHome::mirrored;
      },
      "parameter_server: variables live in host memory, which updates them; replicated: each "
      "accelerator has a copy and updates it itself",
      {"parameter_server", "replicated"});
  add_all_reduce(app, options);
}

void add_trained_options(CLI::App& app, const models::Model& model, models::OptionValues& values) {
  for (const models::ModelOption& option : model.options) {
    if (!option.kept) continue;
    const std::string name = "--" + option.name;
    const std::string about =
        "the checkpoint was trained with this option; not needed if `run.json` is beside it";
    const auto given = [&values, key = option.name](auto value) { values[key] = value; };
    if (std::holds_alternative<std::int64_t>(option.value)) {
      add_integer(app, name, given, about, {.least = option.least, .most = option.most});
    } else if (std::holds_alternative<std::string>(option.value)) {
      add_choice(app, name, given, about, option.choices);
    } else {
      add_flag(
          app, name, [given] { given(true); }, about);
    }
  }
}

}  // namespace towerflow::tools
