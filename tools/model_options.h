#pragma once

#include "models/model.h"
#include "tools/options.h"

namespace towerflow::tools {

/// Adds subcommand `name`, and to that one for each model, which `add` makes. Gives `name`'s.
CLI::App& add_model_commands(CLI::App& app, const char* name, const char* about, const char* help,
                             void (*add)(CLI::App& parent, const models::Model& model));

/// Adds the options that `model` alone has, with their defaults in `values`; without `all` those
/// that say what network is trained.
void add_model_options(CLI::App& app, const models::Model& model, models::OptionValues& values,
                       bool all);

/// Adds those that a trained network is known by; only what is given gets into `values`.
void add_trained_options(CLI::App& app, const models::Model& model, models::OptionValues& values);

}  // namespace towerflow::tools
