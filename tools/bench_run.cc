// `towerflow bench run`: the cost of a run and of an instruction besides the work of the kernels.
#include "tools/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/quantile.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "towerflow/towerflow.h"

namespace towerflow::tools {
namespace {

constexpr const char* kRunHelp =
    "Runs one addition of integers, and a chain of them, so often that the time of the additions\n"
    "is next to nothing: what is left is what a call costs, through a callable and through\n"
    "Session::run, and what each further operation adds. Medians, in microseconds (us).\n"
    "\n"
    "Example: towerflow bench run --ops 1000 --calls 500";

struct RunArguments {
  std::int64_t windows = 21, calls = 2000, ops = 100;
  bool json = false;
};

/// Returns the median time of one call in seconds, over windows of calls.
template <class Call>
double seconds_of(const RunArguments& arguments, std::int64_t calls, Call call) {
  std::vector<double> windows;
  for (std::int64_t window = 0; window <= arguments.windows; ++window) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < calls; ++i) call();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (window > 0) windows.push_back(seconds.count() / static_cast<double>(calls));
  }
  return report::quantile(std::move(windows), 0.5);
}

void bench_run(const RunArguments& arguments) {
  Graph graph;
  const auto as_default = graph.as_default();
  // Integers, which elementwise fusion does not take; a fed value, which prevents constant folding.
  const Tensor x = placeholder(DType::int32, {.shape = Shape{}});
  Tensor y = x + 1;
  const Tensor one = y;
  for (std::int64_t i = 1; i < arguments.ops; ++i) y = y + 1;
  Session session;
  const auto single = session.make_callable({one}, {x});
  const auto chain = session.make_callable({y}, {x});
  std::int32_t number = 0;
  const double fed = seconds_of(arguments, arguments.calls, [&] {
    const Array value = Array::scalar(++number);
    single({&value, 1});
  });
  const double run = seconds_of(arguments, arguments.calls, [&] {
    session.run(one, {{x, Array::scalar(++number)}});
  });
  const double many = seconds_of(arguments, std::max<std::int64_t>(arguments.calls / 20, 1), [&] {
    const Array value = Array::scalar(++number);
    chain({&value, 1});
  });
  const double further =
      (many - fed) / static_cast<double>(std::max<std::int64_t>(arguments.ops - 1, 1));
  fmt::print("a callable with one fed number and one op: {:.2f} us\n", 1e6 * fed);
  fmt::print("Session::run of the same: {:.2f} us\n", 1e6 * run);
  fmt::print("each further op: {:.3f} us\n", 1e6 * further);
  if (arguments.json) {
    nlohmann::ordered_json line;
    line["callable_seconds"] = fed;
    line["run_seconds"] = run;
    line["further_op_seconds"] = further;
    fmt::print("{}\n", json_line(line));
  }
}

}  // namespace

void add_bench_run(CLI::App& parent) {
  CLI::App& app = add_subcommand(parent, "run", "what a run costs besides its kernels", kRunHelp);
  const auto arguments = std::make_shared<RunArguments>();
  add_integer(app, "--ops", arguments->ops, "operations of the chain", {.least = 2});
  add_integer(app, "--windows", arguments->windows, "timed windows");
  add_integer(app, "--calls", arguments->calls, "calls a window");
  add_json(app, arguments->json);
  set_action(app, [arguments] { bench_run(*arguments); });
}

}  // namespace towerflow::tools
