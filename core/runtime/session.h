#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/operand.h"
#include "core/graph/plan_graph.h"

namespace towerflow {

class Cancellation;
class ResourceStore;
struct Placement;

/// How a session runs graphs. (tf.ConfigProto)
struct ConfigProto {
  std::map<std::string, int> device_count{};  ///< logical devices by type: {{"CPU", 2}}
  int intra_op_parallelism_threads = 0;       ///< compute threads in all, 0 for one per core
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  PassOptions passes{};
};

/// One fed tensor and its value.
class Feed {
 public:
  template <std::convertible_to<Tensor> T>
  Feed(const T& tensor, Array value)  // NOLINT: {{x, v}}
      : tensor_(static_cast<Tensor>(tensor)), value_(std::move(value)) {}
  /// A number, a string or nested braces, taken as the tensor's dtype.
  template <std::convertible_to<Tensor> T>
  Feed(const T& tensor, const Nested& value)  // NOLINT: {{x, {1, 2, 3}}}
      : tensor_(static_cast<Tensor>(tensor)), value_(to_array(value, tensor_.dtype())) {}
  template <std::convertible_to<Tensor> T>
  Feed(const T& tensor, std::initializer_list<Nested> value)  // NOLINT
      : Feed(tensor, Nested(value)) {}

  const Tensor& tensor() const { return tensor_; }
  const Array& value() const { return value_; }

 private:
  Tensor tensor_;
  Array value_;
};

using Feeds = std::vector<Feed>;

/// Runs parts of a graph and owns the values of its variables. (tf.Session)
///
/// `run` may be called from several threads. A run behaves as if the nodes it needs ran one after
/// another in tape order. Errors leave the session usable; destruction closes it.
class Session {
 public:
  explicit Session(ConfigProto config = {});
  explicit Session(Graph& graph, ConfigProto config = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Computes `fetches`; the place of an Operation holds an empty Array.
  /// Throws what the kernels throw; ValueError for a tensor of another graph or a feed that does
  /// not fit; RuntimeError after `close`.
  template <std::size_t N>
  std::array<Array, N> run(const Fetch (&fetches)[N], const Feeds& feeds = {}) {
    std::vector<Array> all = run(std::span<const Fetch>(fetches), feeds);
    std::array<Array, N> results;
    std::move(all.begin(), all.end(), results.begin());
    return results;
  }
  template <std::convertible_to<Fetch> T>
  Array run(const T& fetch, const Feeds& feeds = {}) {
    const Fetch one(fetch);
    return run(std::span<const Fetch>(&one, 1), feeds)[0];
  }
  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds = {});

  /// A function that runs `fetches` with values for `feeds` given in their order, without looking
  /// the plan up again. (tf.Session.make_callable)
  /// The function may outlive the session, whose `close` it then meets; `cancellation`, when given,
  /// ends its runs, the one under way and later ones, and must live as long as the function.
  std::function<std::vector<Array>(std::span<const Array>)> make_callable(
      std::vector<Fetch> fetches, std::vector<Tensor> feeds = {},
      Cancellation* cancellation = nullptr);

  /// What the planner makes of a run, in words.
  std::string plan_report(std::span<const Fetch> fetches, const Feeds& feeds = {});
  /// Where each node of that run is placed, and why.
  std::vector<Placement> placements(std::span<const Fetch> fetches, const Feeds& feeds = {});

  /// Ends waits in queues and cancels runs; later runs are errors. Called by the destructor.
  void close();

  Graph& graph() const;
  /// Full names of the devices. (tf.Session.list_devices)
  std::vector<std::string> list_devices() const;
  ResourceStore& resources();
  /// The same for those who may outlive the session.
  std::shared_ptr<ResourceStore> shared_resources();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace towerflow
