#include "train/device_setter.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "core/graph/device_spec.h"
#include "core/graph/log.h"

namespace towerflow::train {
namespace {

/// Types of ops with state that TensorFlow keeps on parameter servers.
const std::vector<std::string>& standard_ps_ops() {
  static const std::vector<std::string> ops{"Variable",
                                            "VariableV2",
                                            "AutoReloadVariable",
                                            "MutableHashTable",
                                            "MutableHashTableV2",
                                            "MutableHashTableOfTensors",
                                            "MutableHashTableOfTensorsV2",
                                            "MutableDenseHashTable",
                                            "MutableDenseHashTableV2",
                                            "VarHandleOp",
                                            "BoostedTreesEnsembleResourceHandleOp",
                                            "BoostedTreesQuantileStreamResourceHandleOp",
                                            "ResourceConditionalAccumulator",
                                            "DecisionTreeResource"};
  return ops;
}

/// Returns each task in turn.
std::function<int(const Operation&)> round_robin(int tasks) {
  return [tasks, next = std::make_shared<std::atomic<unsigned>>(0)](const Operation&) {
    return static_cast<int>(next->fetch_add(1) % static_cast<unsigned>(tasks));
  };
}

/// Returns the device of an op. (_ReplicaDeviceChooser.device_function)
std::string choose_device(const ReplicaDeviceSetterOptions& options, const Operation& op) {
  if (!options.merge_devices && !op.device().empty()) return op.device();
  const DeviceSpec requested = DeviceSpec::parse(op.device());
  const auto& ps_ops = options.ps_ops;
  const bool on_server = !options.ps_device.empty() &&
                         std::find(ps_ops.begin(), ps_ops.end(), op.type()) != ps_ops.end();
  if (!on_server) return DeviceSpec::parse(options.worker_device).merged(requested).text();
  DeviceSpec server = DeviceSpec::parse(options.ps_device);
  if (server.job && (!requested.job || requested.job == server.job)) {
    server.task = options.ps_strategy(op);
  }
  return server.merged(requested).text();
}

}  // namespace

namespace types {

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> names;
  for (const auto& [name, tasks] : jobs_) names.push_back(name);
  return names;
}

const std::vector<std::string>& ClusterSpec::job_tasks(const std::string& job_name) const {
  const auto found = jobs_.find(job_name);
  if (found == jobs_.end()) {
    throw ValueError(fmt::format("No such job in cluster: '{}'", job_name));
  }
  return found->second;
}

int ClusterSpec::num_tasks(const std::string& job_name) const {
  return static_cast<int>(job_tasks(job_name).size());
}

std::string ClusterSpec::task_address(const std::string& job_name, int task_index) const {
  const auto& tasks = job_tasks(job_name);
  if (task_index < 0 || static_cast<std::size_t>(task_index) >= tasks.size()) {
    throw ValueError(fmt::format("No task with index {} in job '{}'", task_index, job_name));
  }
  return tasks[static_cast<std::size_t>(task_index)];
}

}  // namespace types

DeviceFunction replica_device_setter(ReplicaDeviceSetterOptions options, Site site) {
  if (options.cluster) {
    const auto& jobs = options.cluster->as_dict();
    const auto servers = jobs.find(DeviceSpec::parse(options.ps_device, site).job.value_or(""));
    if (servers == jobs.end()) return {};
    options.ps_tasks = static_cast<int>(servers->second.size());
  }
  if (options.ps_tasks == 0) return {};
  if (options.ps_ops.empty()) options.ps_ops = standard_ps_ops();
  if (!options.merge_devices) {
    log_message(LogLevel::warning,
                "DEPRECATION: It is recommended to set merge_devices=true in "
                "replica_device_setter");
  }
  if (!options.ps_strategy) options.ps_strategy = round_robin(options.ps_tasks);
  return [options](const Operation& op) { return choose_device(options, op); };
}

}  // namespace towerflow::train
