#include "tools/options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/device/backend.h"
#include "core/graph/error.h"
#include "tools/command.h"

namespace towerflow::tools {
namespace {

/// Parses all of the text as a number of type T.
template <class T>
std::optional<T> parsed(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string requirement_text(IntegerRange range) {
  return range.most < IntegerRange{}.most
             ? fmt::format("must be a whole number from {} to {}", range.least, range.most)
             : fmt::format("must be a whole number of at least {}", range.least);
}

CLI::Validator whole_number(IntegerRange range) {
  return CLI::Validator(
      [range](std::string& text) -> std::string {
        const auto value = parsed<std::int64_t>(text);
        if (value && *value >= range.least && *value <= range.most) return "";
        if (value && *value > range.most) {
          return fmt::format("must be at most {}, got '{}'", range.most, text);
        }
        return fmt::format("{}, got '{}'", requirement_text(range), text);
      },
      "");
}

CLI::Validator positive_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const auto value = parsed<double>(text);
        if (value && std::isfinite(*value) && *value > 0) return "";
        return fmt::format("must be a number above 0, got '{}'", text);
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> choices) {
  const std::string shown = fmt::format("{}", fmt::join(choices, ", "));
  const auto check = [choices = std::move(choices), shown](std::string& text) -> std::string {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return "";
    return fmt::format("must be one of {}, got '{}'", shown, text);
  };
  return CLI::Validator(check, "");
}

template <class T>
void add_numbers(CLI::App& app, const std::string& name, std::vector<T>& values,
                 const std::string& about, T least, T most) {
  app.add_option(name, values, about)
      ->delimiter(',')
      ->check(CLI::Range(least, most))
      ->capture_default_str();
}

}  // namespace

CLI::App& add_subcommand(CLI::App& parent, const std::string& name, const std::string& about,
                         const std::string& help) {
  CLI::App& app = *parent.add_subcommand(name, about);
  app.footer(help);
  return app;
}

void require_subcommand(CLI::App& app) { app.require_subcommand(1); }

void set_action(CLI::App& app, std::function<void()> work) { app.callback(std::move(work)); }

void set_own_action(CLI::App& app, std::function<void()> work) {
  app.require_subcommand(0, 1);
  app.callback([&app, work = std::move(work)] {
    if (app.get_subcommands().empty()) work();
  });
}

void parse_options(const std::string& option, const std::string& text,
                   const std::function<void(CLI::App&)>& add) {
  CLI::App app("", option);
  app.set_help_flag();
  add(app);
  try {
    app.parse(text);
  } catch (const CLI::ExtrasError&) {
    // Its text lists the words from the last to the first.
    throw UsageError(
        fmt::format("{} \"{}\": not expected: {}", option, text, fmt::join(app.remaining(), " ")));
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{} \"{}\": {}", option, text, error.what()));
  }
}

void add_skipped_passes(CLI::App& app, const std::string& name, PassOptions& passes) {
  const auto take = [&passes](const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (word == "unread") {
        passes.drop_unread = false;
      } else if (word == "fold") {
        passes.fold_constants = false;
      } else if (word == "share") {
        passes.share_subexpressions = false;
      } else if (word == "recompute") {
        passes.recompute_from = 0;
      } else if (word == "split") {
        passes.split_loops = false;
      } else if (word == "reuse") {
        passes.reuse_buffers = false;
      } else if (word == "winograd") {
        passes.choose_winograd = false;
      } else {
        passes.skipped_rewrites.insert(word);
      }
    }
  };
  app.add_option_function<std::vector<std::string>>(
         name, take,
         "passes to do without: unread, fold, share, recompute, split, reuse, winograd, or kinds "
         "of "
         "rewrites: layers, updates, elementwise")
      ->delimiter(',')
      ->check(one_of({"unread", "fold", "share", "recompute", "split", "reuse", "winograd",
                      "layers", "updates", "elementwise"}))
      ->type_name("PASS,..");
}

void add_flag(CLI::App& app, const std::string& name, bool& value, const std::string& about) {
  app.add_flag(name, value, about);
}

void add_flag(CLI::App& app, const std::string& name, std::function<void()> given,
              const std::string& about) {
  app.add_flag_callback(name, std::move(given), about);
}

void add_text(CLI::App& app, const std::string& name, std::string& value, const std::string& about,
              Text kind) {
  app.add_option(name, value, about)
      ->required(kind.required)
      ->type_name(kind.type)
      ->capture_default_str();
}

void add_list(CLI::App& app, const std::string& name, std::vector<int>& values,
              const std::string& about, int least, int most) {
  add_numbers(app, name, values, about, least, most);
}

void add_list(CLI::App& app, const std::string& name, std::vector<double>& values,
              const std::string& about, double least, double most) {
  add_numbers(app, name, values, about, least, most);
}

void add_integer(CLI::App& app, const std::string& name, std::int64_t& value,
                 const std::string& about, IntegerRange range) {
  app.add_option(name, value, about)
      ->check(whole_number(range))
      ->type_name("N")
      ->capture_default_str();
}

void add_integer(CLI::App& app, const std::string& name, std::function<void(std::int64_t)> given,
                 const std::string& about, IntegerRange range) {
  app.add_option_function<std::int64_t>(name, std::move(given), about)
      ->check(whole_number(range))
      ->type_name("N");
}

void add_integer(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                 const std::string& about, IntegerRange range) {
  app.add_option(name, value, about)->check(whole_number(range))->type_name("N");
}

void add_devices(CLI::App& app, const std::string& name, int& cpus, SimulatedDevices& simulated,
                 CudaDevices& cuda) {
  const auto count = [](const std::string& text) {
    return text.starts_with("cpu:") ? parsed<std::int64_t>(text.substr(4)) : std::nullopt;
  };
  const auto check = [count](std::string& text) -> std::string {
    try {
      if (text.starts_with("sim:")) {
        parse_simulated_devices(std::string_view(text).substr(4));
        return "";
      }
      if (text.starts_with("cuda")) {
        parse_cuda_devices(text);
        return "";
      }
    } catch (const ValueError& error) {
      return error.message();
    }
    const auto value = count(text);
    if (value && *value >= 1 && *value <= kMaxDevices) return "";
    return fmt::format(
        "must be cpu:N with N from 1 to {}, or sim:N[,bandwidth=16GB/s][,latency=10us][,slow=I:X]"
        "[,memory=2GiB][,jitter=1ms][,fault=I:LANE:N], "
        "cuda:N[,graphs=off][,share=2][,limit=8G][,plans=FILE][,tune=on], or cuda-host:N with "
        "these and [,memory=2G][,seed=3][,delay=100], got '{}'",
        kMaxDevices, text);
  };
  const auto take = [count, &cpus, &simulated, &cuda](const std::string& text) {
    if (text.starts_with("sim:"))
      simulated = parse_simulated_devices(std::string_view(text).substr(4));
    else if (text.starts_with("cuda"))
      cuda = parse_cuda_devices(text);
    else
      cpus = static_cast<int>(*count(text));
  };
  app.add_option_function<std::string>(
         name, take,
         "cpu:N for N logical CPUs, one a tower when not given; sim:N for N simulated "
         "accelerators, with ,bandwidth= ,latency= ,slow=I:X ,memory= ,jitter= ,fault= after it; "
         "cuda:N for N GPUs; cuda-host:N for N GPUs emulated on this machine")
      ->check(CLI::Validator(check, ""))
      ->type_name("cpu:N|sim:N|cuda:N|cuda-host:N");
}

void add_gpus(CLI::App& app, const std::string& name, std::string& visible) {
  const auto check = [](std::string& text) -> std::string {
    std::string_view left = text;
    while (true) {
      const std::size_t comma = left.find(',');
      const auto number = parsed<int>(std::string(left.substr(0, comma)));
      if (!number || *number < 0) {
        return fmt::format("must be numbers of accelerators like 0,2, got '{}'", text);
      }
      if (comma == std::string_view::npos) return "";
      left.remove_prefix(comma + 1);
    }
  };
  app.add_option(name, visible,
                 "which accelerators to use, in this order; all of them when not given")
      ->check(CLI::Validator(check, ""))
      ->type_name("I,J,..");
}

void add_positive(CLI::App& app, const std::string& name, double& value, const std::string& about) {
  app.add_option(name, value, about)
      ->check(positive_number())
      ->type_name("R")
      ->capture_default_str();
}

void add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                const std::string& about, double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    const auto number = parsed<double>(text);
    if (number && *number >= least && *number <= most) return "";
    return fmt::format("must be a number from {} to {}, got '{}'", least, most, text);
  };
  CLI::Option* option = app.add_option(name, value, about)->check(CLI::Validator(check, ""));
  option->type_name("X");
  if (value) option->default_str(fmt::format("{}", *value));
}

void add_choice(CLI::App& app, const std::string& name, std::string& value,
                const std::string& about, std::vector<std::string> choices) {
  app.add_option(name, value, about)
      ->check(one_of(std::move(choices)))
      ->type_name("WORD")
      ->capture_default_str();
}

void add_choice(CLI::App& app, const std::string& name, std::function<void(std::string)> given,
                const std::string& about, std::vector<std::string> choices) {
  app.add_option_function<std::string>(name, std::move(given), about)
      ->check(one_of(std::move(choices)))
      ->type_name("WORD");
}

void add_threads(CLI::App& app, std::optional<std::int64_t>& threads) {
  add_integer(app, "--threads", threads, "compute threads; one a core when not given",
              {.least = 1, .most = 1024});
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "also print the result as JSON, as the last line");
}

}  // namespace towerflow::tools
