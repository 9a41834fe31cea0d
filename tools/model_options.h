#pragma once

#include "models/model.h"
#include "models/training.h"
#include "tools/options.h"

namespace towerflow::tools {

/// Adds subcommand `name`, and below it one subcommand per model with `add`. Returns the former.
CLI::App& add_model_commands(CLI::App& app, const char* name, const char* about, const char* help,
                             void (*add)(CLI::App& parent, const models::Model& model));

/// Adds --batch-size with the model's default: for models::tower_batch_size.
void add_batch_size(CLI::App& app, const models::Model& model, std::int64_t& batch_size);

/// Adds the options specific to `model`, with their defaults in `values`; without `all`, only those
/// that change the trained network or are of a training.
void add_model_options(CLI::App& app, const models::Model& model, models::OptionValues& values,
                       bool all);

/// Adds --all-reduce: how accelerators with copies of the variables average gradients.
void add_all_reduce(CLI::App& app, models::DeviceOptions& options);

/// Throws UsageError if the options of add_variable_update do not fit the devices or each other.
void check_variable_update(const models::DeviceOptions& options);

/// Adds --variable-update and --all-reduce: where variables live, and how accelerators average
/// gradients.
void add_variable_update(CLI::App& app, models::DeviceOptions& options);

/// Adds the options that change the trained network; only given ones are added to `values`.
void add_trained_options(CLI::App& app, const models::Model& model, models::OptionValues& values);

}  // namespace towerflow::tools
