// `towerflow bench save`: the cost of a checkpoint in time, and in memory beyond the variables.
#include "tools/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/error.h"
#include "data/file.h"
#include "report/quantile.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/serve.h"
#include "towerflow/towerflow.h"
#include "train/checkpoint/files.h"

namespace towerflow::tools {
namespace {

constexpr const char* kSaveHelp =
    "Saves variables of random numbers by a Saver into a folder of its own below --dir, which is\n"
    "removed again, and prints the rate, until all of it is on the disk, and by how much the peak\n"
    "of the process's memory is above what it had before. MB are 10^6 bytes, MiB 2^20.\n"
    "\n"
    "Example: towerflow bench save --megabytes 100 --dir runs";

struct SaveArguments {
  std::string dir = ".";
  std::int64_t megabytes = 500, variables = 4, windows = 5;
  bool serve = false, json = false;
};

/// Returns the MiB in the line of /proc/self/status that begins with `name`.
double status_mib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  throw errors::NotFoundError(fmt::format("/proc/self/status has no {}", name));
}

/// Resets VmHWM, so that it is the peak from here on.
void reset_peak_memory() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << "5" << std::flush;
  if (!refs) throw errors::PermissionDeniedError("cannot reset the peak in /proc/self/clear_refs");
}

struct MeasuredSave {
  double mb_per_second;  ///< median
  double extra_mib;      ///< maximum
};

class SaveBench {
 public:
  explicit SaveBench(const SaveArguments& arguments) {
    make_folder(arguments.dir);
    std::string pattern = (std::filesystem::path(arguments.dir) / "bench-save-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      raise_file_error(errno, "create a folder in", arguments.dir);
    }
    folder_ = pattern;
    const auto as_default = graph_.as_default();
    const std::int64_t elements = arguments.megabytes * 250000 / arguments.variables;
    for (std::int64_t i = 0; i < arguments.variables; ++i) {
      get_variable(fmt::format("variable_{}", i), Shape{elements},
                   {.initializer = random_uniform_initializer({.minval = -1, .maxval = 1})});
    }
    bytes_ = static_cast<double>(4 * elements * arguments.variables);
    saver_.emplace(train::SaverOptions{.max_to_keep = 0});
    session_ = std::make_unique<Session>(graph_);
    // Initializes one variable at a time, so that no two initial values are in memory at once.
    for (const Variable& variable : global_variables()) session_->run(variable.initializer());
  }
  ~SaveBench() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SaveBench(const SaveBench&) = delete;
  SaveBench& operator=(const SaveBench&) = delete;

  MeasuredSave save(std::int64_t times) {
    std::vector<double> rates;
    double extra_mib = 0;
    for (std::int64_t i = 0; i < times; ++i) {
      const MeasuredSave one = save_once();
      rates.push_back(one.mb_per_second);
      extra_mib = std::max(extra_mib, one.extra_mib);
    }
    return {report::quantile(std::move(rates), 0.5), extra_mib};
  }

 private:
  /// Times one save, then deletes the checkpoint.
  MeasuredSave save_once() {
    reset_peak_memory();
    const double before = status_mib("VmRSS");
    const auto start = std::chrono::steady_clock::now();
    const std::string written =
        saver_->save(*session_, (folder_ / "model.ckpt").string(), {.global_step = ++saves_});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const double peak = status_mib("VmHWM");
    train::remove_checkpoint(written);
    return {1e-6 * bytes_ / took.count(), std::max(peak - before, 0.0)};
  }

  Graph graph_;
  double bytes_ = 0;
  std::filesystem::path folder_;
  std::int64_t saves_ = 0;
  std::optional<train::Saver> saver_;
  std::unique_ptr<Session> session_;
};

std::string save_json(const MeasuredSave& measured) {
  nlohmann::ordered_json line;
  line["mb_per_second"] = measured.mb_per_second;
  line["extra_mib"] = measured.extra_mib;
  return json_line(line);
}

void bench_save(const SaveArguments& arguments) {
  SaveBench bench(arguments);
  bench.save(1);
  if (arguments.serve) {
    return serve("saves", [&](std::int64_t saves) { return save_json(bench.save(saves)); });
  }
  const MeasuredSave measured = bench.save(arguments.windows);
  fmt::print(
      "{} MB in {} variables: {:.0f} MB/s until they are on the disk, {:.1f} MiB beside the "
      "variables at most\n",
      arguments.megabytes, arguments.variables, measured.mb_per_second, measured.extra_mib);
  if (arguments.json) fmt::print("{}\n", save_json(measured));
}

}  // namespace

void add_bench_save(CLI::App& parent) {
  CLI::App& app = add_subcommand(parent, "save", "what writing a checkpoint costs", kSaveHelp);
  const auto arguments = std::make_shared<SaveArguments>();
  add_text(app, "--dir", arguments->dir, "folder on the disk to be measured, made where absent",
           {.type = "DIR"});
  add_integer(app, "--megabytes", arguments->megabytes, "size of the variables",
              {.least = 1, .most = 100000});
  add_integer(app, "--variables", arguments->variables, "number of variables, all of the same size",
              {.least = 1, .most = 100000});
  add_integer(app, "--windows", arguments->windows, "timed saves");
  add_flag(app, "--serve", arguments->serve,
           "save when told to on standard input: a number of saves a line");
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_save(*arguments); });
}

}  // namespace towerflow::tools
