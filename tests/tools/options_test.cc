#include "tools/options.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace towerflow::tools {
namespace {

/// Returns the error of giving `value` to the option that `add(app)` adds, "" if it is accepted.
template <class F>
std::string option_error(F&& add, const std::string& value) {
  CLI::App app;
  add(app);
  try {
    app.parse(std::vector<std::string>{value, "--x"});  // CLI11 expects reverse order
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("whole numbers are checked against their range and nothing else is taken") {
  std::int64_t value = 64;
  const auto count = [&](CLI::App& app) { add_integer(app, "--x", value, "a count"); };
  CHECK(option_error(count, "1") == "");
  CHECK(value == 1);
  CHECK(option_error(count, "2147483647") == "");
  CHECK(value == 2147483647);
  for (const char* bad :
       {"0", "-1", "1.5", "1e3", "0x10", "12a", "", "one", "-", "99999999999999999999999"}) {
    CHECK(option_error(count, bad) ==
          std::string("--x: must be a whole number of at least 1, got '") + bad + "'");
    CHECK(value == 2147483647);
  }
  CHECK(option_error(count, "2147483648") == "--x: must be at most 2147483647, got '2147483648'");

  const auto from_0_to_3 = [&](CLI::App& app) {
    add_integer(app, "--x", value, "a level", {.least = 0, .most = 3});
  };
  CHECK(option_error(from_0_to_3, "0") == "");
  CHECK(option_error(from_0_to_3, "-1") == "--x: must be a whole number from 0 to 3, got '-1'");
  CHECK(option_error(from_0_to_3, "4") == "--x: must be at most 3, got '4'");
}

TEST_CASE("an optional number stays absent unless it is given") {
  std::optional<std::int64_t> value;
  const auto add = [&](CLI::App& app) { add_integer(app, "--x", value, "a limit", {.least = 0}); };
  CHECK_FALSE(option_error(add, "-5") == "");
  CHECK_FALSE(value.has_value());
  CHECK(option_error(add, "0") == "");
  CHECK(value == 0);
}

TEST_CASE("a number has a range") {
  std::optional<double> value = 25;
  const auto add = [&](CLI::App& app) { add_number(app, "--x", value, "a rate", 0.5, 1e6); };
  CHECK(option_error(add, "0.5") == "");
  CHECK(value == 0.5);
  for (const char* bad : {"0", "-1", "1e7", "nan", "inf", "", "one", "1 2"}) {
    CHECK(option_error(add, bad) ==
          fmt::format("--x: must be a number from 0.5 to 1000000, got '{}'", bad));
    CHECK(value == 0.5);
  }
}

TEST_CASE("accelerators are a list of numbers") {
  std::string visible;
  const auto add = [&](CLI::App& app) { add_gpus(app, "--x", visible); };
  CHECK(option_error(add, "0") == "");
  CHECK(option_error(add, "2,0") == "");
  CHECK(visible == "2,0");
  for (const char* bad : {"", ",", "0,", "a", "-1", "0 1", "1,,2"}) {
    CHECK(option_error(add, bad) ==
          std::string("--x: must be numbers of accelerators like 0,2, got '") + bad + "'");
  }
}

TEST_CASE("devices are a count of logical CPUs, or simulated accelerators") {
  int cpus = 0;
  SimulatedDevices simulated;
  CudaDevices cuda;
  const auto add = [&](CLI::App& app) { add_devices(app, "--x", cpus, simulated, cuda); };
  CHECK(option_error(add, "cpu:3") == "");
  CHECK(cpus == 3);
  for (const char* bad :
       {"", "cpu", "cpu:", "cpu:0", "cpu:-1", "cpu:1025", "gpu:2", "3", "cpu:2x"}) {
    const std::string said = option_error(add, bad);
    CAPTURE(said);
    CHECK(said.starts_with("--x: must be cpu:N with N from 1 to 1024, or sim:N[,bandwidth="));
    CHECK(said.ends_with(fmt::format("got '{}'", bad)));
  }
  CHECK(cpus == 3);
  CHECK(option_error(add, "sim:2,bandwidth=8GB/s,slow=1:2") == "");
  CHECK(simulated.count == 2);
  CHECK(simulated.slow.at(1) == 2);
  CHECK(option_error(add, "cuda-host:2,memory=512M,seed=3,delay=50") == "");
  CHECK(cuda == CudaDevices{.count = 2,
                            .emulated = true,
                            .memory = std::size_t{512} << 20,
                            .seed = 3,
                            .max_delay_us = 50});
  CHECK(option_error(add, "cuda:4") == "");
  CHECK(cuda == CudaDevices{.count = 4});
  CHECK(option_error(add, "cuda:2,graphs=off") == "");
  CHECK(cuda == CudaDevices{.count = 2, .graphs = false});
  CHECK(option_error(add, "cuda-host:2,graphs=on") == "");
  CHECK(cuda == CudaDevices{.count = 2, .emulated = true});
  CHECK(option_error(add, "cuda:2,plans=a b.json,tune=on") == "");
  CHECK(cuda == CudaDevices{.count = 2, .plans = "a b.json", .tune = true});
  CHECK(option_error(add, "cuda:2,plans=").ends_with("wanted the name of a file"));
  CHECK(option_error(add, "cuda:2,tune=yes").ends_with("wanted tune=on or tune=off"));
  CHECK(option_error(add, "cuda:2,graphs=2").ends_with("wanted graphs=on or graphs=off"));
  CHECK(option_error(add, "cuda:0") == "--x: cuda:0: wanted a number of devices");
  CHECK(option_error(add, "cuda:2,seed=1").ends_with("it has graphs, share, limit, plans, tune"));
  CHECK(option_error(add, "cuda-host:1,speed=1")
            .ends_with("it has graphs, share, limit, plans, tune, memory, seed, delay"));
  CHECK(option_error(add, "cuda-host:65").ends_with("a count from 0 to 64 of GPUs, got 65"));
  CHECK(option_error(add, "sim:0") == "--x: sim:0: wanted a number of devices");
  CHECK(option_error(add, "sim:2,speed=1").starts_with("--x: 'speed' of a simulated accelerator"));
}

TEST_CASE("numbers above zero") {
  double value = 0.5;
  const auto add = [&](CLI::App& app) { add_positive(app, "--x", value, "a rate"); };
  CHECK(option_error(add, "5e-3") == "");
  CHECK(value == 5e-3);
  for (const char* bad : {"0", "-0.1", "nan", "inf", "1e999", "fast", ""}) {
    CHECK(option_error(add, bad) ==
          std::string("--x: must be a number above 0, got '") + bad + "'");
    CHECK(value == 5e-3);
  }
}

TEST_CASE("a word out of a list") {
  std::string value = "mean";
  const auto add = [&](CLI::App& app) { add_choice(app, "--x", value, "how", {"mean", "sum"}); };
  CHECK(option_error(add, "sum") == "");
  CHECK(value == "sum");
  CHECK(option_error(add, "Sum") == "--x: must be one of mean, sum, got 'Sum'");
}

TEST_CASE("the help shows what an option wants and what it is without") {
  CLI::App app;
  std::int64_t batch = 64;
  double rate = 0.005;
  bool json = false;
  add_integer(app, "--batch-size", batch, "examples a tower takes a step");
  add_positive(app, "--learning-rate", rate, "the first rate");
  add_json(app, json);
  const std::string help = app.help();
  CHECK(help.find("--batch-size N=64") != std::string::npos);
  CHECK(help.find("--learning-rate R=0.005") != std::string::npos);
  app.parse("--json");
  CHECK(json);
}

}  // namespace
}  // namespace towerflow::tools
