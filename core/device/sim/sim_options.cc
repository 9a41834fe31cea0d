#include "core/device/sim/sim_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/device/backend.h"
#include "core/device/option_parts.h"
#include "core/graph/error.h"

namespace towerflow {
namespace {

struct Unit {
  const char* name;
  double size;
};
const std::vector<Unit> kTimes{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
const std::vector<Unit> kBytes{{"B", 1},       {"kB", 1e3},       {"MB", 1e6},         {"GB", 1e9},
                               {"KiB", 1024.}, {"MiB", 1048576.}, {"GiB", 1073741824.}};
const std::vector<Unit> kRates{
    {"B/s", 1},       {"kB/s", 1e3},       {"MB/s", 1e6},         {"GB/s", 1e9},
    {"KiB/s", 1024.}, {"MiB/s", 1048576.}, {"GiB/s", 1073741824.}};

std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

[[noreturn]] void refuse_option(std::string_view key, std::string_view got,
                                std::string_view wanted) {
  throw ValueError(fmt::format("{}={} of a simulated accelerator: wanted {}", key, got, wanted));
}

double parse_quantity(std::string_view key, std::string_view text, const std::vector<Unit>& units) {
  std::string names;
  for (const Unit& unit : units) names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
  const std::string wanted = fmt::format("a number and one of {}", names);
  std::string_view rest = text;
  const auto value = take_number(rest);
  if (!value) refuse_option(key, text, wanted);
  for (const Unit& unit : units) {
    if (rest == unit.name) return *value * unit.size;
  }
  refuse_option(key, text, wanted);
}

std::pair<int, double> slow_device(std::string_view text) {
  const char* wanted = "DEVICE:TIMES, such as 1:2.5";
  int device = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), device);
  std::string_view rest = text.substr(static_cast<std::size_t>(stop - text.data()));
  if (error != std::errc{} || rest.empty() || rest[0] != ':') refuse_option("slow", text, wanted);
  rest.remove_prefix(1);
  const auto times = take_number(rest);
  if (!times || !rest.empty()) refuse_option("slow", text, wanted);
  return {device, *times};
}

SimulatedFault parse_fault(std::string_view text) {
  const char* wanted = "DEVICE:LANE:TASK, such as 1:compute:17";
  const auto number = [&](std::string_view digits) {
    int value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = stop == digits.data() + digits.size();
    if (error != std::errc{} || !whole || value < 0) refuse_option("fault", text, wanted);
    return value;
  };
  const std::size_t first = text.find(':'), last = text.rfind(':');
  if (first == last) refuse_option("fault", text, wanted);
  const std::string_view name = text.substr(first + 1, last - first - 1);
  for (const Lane lane : kLanes) {
    if (name != lane_name(lane)) continue;
    return {number(text.substr(0, first)), lane, number(text.substr(last + 1))};
  }
  refuse_option("fault", text, wanted);
}

}  // namespace

void check(const SimulatedDevices& options) {
  const auto check_that = [](bool holds, const char* what, double value) {
    if (!holds) {
      throw ValueError(fmt::format("{} of a simulated accelerator, got {}", what, value));
    }
  };
  static_assert(kMaxDevices == 1024, "as the next line says");
  check_that(options.count >= 0 && options.count <= kMaxDevices, "a count from 0 to 1024",
             options.count);
  check_that(options.bandwidth > 0, "a positive bandwidth", options.bandwidth);
  check_that(options.latency >= 0 && options.latency <= 1, "a latency from 0 to 1 s",
             options.latency);
  check_that(options.jitter >= 0 && options.jitter <= 1, "a jitter from 0 to 1 s", options.jitter);
  check_that(options.memory >= 4096 && options.memory <= std::size_t{1} << 42,
             "a memory from 4 KiB to 4 TiB", static_cast<double>(options.memory));
  check_that(
      options.fault.device >= 0 && (options.fault.task < 0 || options.fault.device < options.count),
      "a fault of a device that exists", options.fault.device);
  for (const auto& [device, times] : options.slow) {
    check_that(device >= 0 && device < options.count, "a slow device that exists", device);
    check_that(times >= 1 && times <= 1000, "a slow-down from 1 to 1000", times);
  }
}

SimulatedDevices parse_simulated_devices(std::string_view text) {
  SimulatedDevices options;
  std::string_view rest = text.substr(0, text.find(','));
  text.remove_prefix(rest.size());
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), options.count);
  if (error != std::errc{} || stop != rest.data() + rest.size() || options.count < 1) {
    throw ValueError(fmt::format("sim:{}: wanted a number of devices", rest));
  }
  for_each_option_part(text, [&](std::string_view, std::string_view key, std::string_view value) {
    if (key == "bandwidth") {
      options.bandwidth = parse_quantity(key, value, kRates);
    } else if (key == "latency") {
      options.latency = parse_quantity(key, value, kTimes);
    } else if (key == "jitter") {
      options.jitter = parse_quantity(key, value, kTimes);
    } else if (key == "memory") {
      const double bytes = parse_quantity(key, value, kBytes);
      if (!(bytes >= 0 && bytes < 1e15)) refuse_option(key, value, "at most 4 TiB");
      options.memory = static_cast<std::size_t>(bytes);
    } else if (key == "slow") {
      options.slow.insert_or_assign(slow_device(value).first, slow_device(value).second);
    } else if (key == "fault") {
      options.fault = parse_fault(value);
    } else {
      throw ValueError(fmt::format(
          "'{}' of a simulated accelerator: it has bandwidth, latency, slow, memory, jitter, fault",
          key));
    }
  });
  check(options);
  return options;
}

}  // namespace towerflow
