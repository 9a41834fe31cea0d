#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/scopes.h"

namespace towerflow::train::types {

/// The jobs of a cluster, each with the addresses of its tasks. (tf.train.ClusterSpec)
class ClusterSpec {
 public:
  ClusterSpec(  // NOLINT: {{"ps", {"a:2222"}}, {"worker", {"b:2222", "c:2222"}}}
      std::initializer_list<std::pair<const std::string, std::vector<std::string>>> jobs)
      : jobs_(jobs) {}
  ClusterSpec(std::map<std::string, std::vector<std::string>> jobs)  // NOLINT
      : jobs_(std::move(jobs)) {}

  const std::map<std::string, std::vector<std::string>>& as_dict() const { return jobs_; }
  std::vector<std::string> jobs() const;  ///< the names, sorted
  /// The number of tasks and their addresses. Throw ValueError if there is no such job.
  int num_tasks(const std::string& job_name) const;
  const std::vector<std::string>& job_tasks(const std::string& job_name) const;
  std::string task_address(const std::string& job_name, int task_index) const;

  bool operator==(const ClusterSpec&) const = default;

 private:
  std::map<std::string, std::vector<std::string>> jobs_;
};

struct ReplicaDeviceSetterOptions {
  int ps_tasks = 0;  ///< number of parameter servers, unless there is a `cluster`
  std::string ps_device = "/job:ps";
  std::string worker_device = "/job:worker";
  bool merge_devices = true;             ///< keeps parts that inner device scopes request
  std::optional<ClusterSpec> cluster{};  ///< its job of `ps_device` has the parameter servers
  std::vector<std::string> ps_ops{};     ///< types of ops for servers; those of variables if empty
  /// Returns the task of an op for servers; by default each task in turn.
  std::function<int(const Operation&)> ps_strategy{};
};

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Returns a device function that puts variables on the parameter servers, in turn, and everything
/// else on the worker; an empty function, which requests no device, without parameter servers:
///
///     const auto scope = tf::device(tf::train::replica_device_setter({.cluster = cluster}));
///
/// Programs run in one process, where a request for a job that it does not have is an error, with
/// soft placement too. (tf.train.replica_device_setter)
DeviceFunction replica_device_setter(ReplicaDeviceSetterOptions options = {},
                                     Site site = Site::current());

}  // namespace towerflow::train
