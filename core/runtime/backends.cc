#include "core/runtime/backends.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/sim/sim_backend.h"

namespace towerflow {
namespace {

std::shared_ptr<Backend> make_cpu(const ConfigProto& config) {
  const auto it = config.device_count.find("CPU");
  const int count = it == config.device_count.end() ? 1 : it->second;
  if (count < 1 || count > kMostDevices) {
    throw ValueError(
        fmt::format("device_count of CPU must be from 1 to {}, got {}", kMostDevices, count));
  }
  if (config.intra_op_parallelism_threads < 0) {
    throw ValueError(fmt::format("intra_op_parallelism_threads must not be negative, got {}",
                                 config.intra_op_parallelism_threads));
  }
  // The virtual clock has one core for the host.
  const bool one_core = config.simulated.count > 0 && config.intra_op_parallelism_threads == 0;
  return std::make_shared<CpuBackend>(count, one_core ? 1 : config.intra_op_parallelism_threads);
}

/// The numbers of a list such as "1,0", each of a device that exists, none twice.
std::vector<int> visible_devices(const std::string& list, int count) {
  std::vector<int> numbers;
  std::set<int> seen;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    int number = -1;
    const auto [stop, error] = std::from_chars(list.data() + at, list.data() + comma, number);
    if (error != std::errc{} || stop != list.data() + comma || number < 0 || number >= count) {
      throw ValueError(
          fmt::format("visible_device_list '{}': '{}' is not a number of one of {} accelerators",
                      list, list.substr(at, comma - at), count));
    }
    if (!seen.insert(number).second) {
      throw ValueError(fmt::format("visible_device_list '{}' names {} twice", list, number));
    }
    numbers.push_back(number);
    at = comma + 1;
  }
  return numbers;
}

SimulatedDevices visible(SimulatedDevices options, const std::string& list) {
  if (list.empty()) return options;
  const std::vector<int> numbers = visible_devices(list, options.count);
  std::map<int, double> slow;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto it = options.slow.find(numbers[i]);
    if (it != options.slow.end()) slow[static_cast<int>(i)] = it->second;
  }
  options.count = static_cast<int>(numbers.size());
  options.slow = std::move(slow);
  return options;
}

}  // namespace

std::vector<std::shared_ptr<Backend>> make_backends(const ConfigProto& config) {
  std::vector<std::shared_ptr<Backend>> backends{make_cpu(config)};
  check(config.simulated);
  const SimulatedDevices simulated =
      visible(config.simulated, config.gpu_options.visible_device_list);
  if (simulated.count > 0) backends.push_back(std::make_shared<SimBackend>(simulated));
  return backends;
}

}  // namespace towerflow
