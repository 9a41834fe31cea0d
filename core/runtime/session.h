#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/device/config.h"
#include "core/graph/graph.h"
#include "core/graph/operand.h"
#include "core/graph/pass_options.h"
#include "core/runtime/callable.h"
#include "core/runtime/placement.h"
#include "core/runtime/run_metadata.h"

namespace towerflow {

class Cancellation;
class ResourceStore;
class SessionImpl;

/// The numbers of `value` in the dtype of the tensor that is fed. What cannot be cast, strings
/// where numbers should be, is given back as it is: the run refuses it, with the tensor's name.
Array fed_array(Array value, DType dtype);

}  // namespace towerflow

namespace towerflow::types {

/// One fed tensor and its value.
class Feed {
 public:
  /// Numbers of another dtype are cast to the tensor's, as NumPy casts them.
  template <std::convertible_to<Tensor> T>
  Feed(const T& tensor, Array value)  // NOLINT: {{x, v}}
      : tensor_(static_cast<Tensor>(tensor)),
        value_(fed_array(std::move(value), tensor_.dtype())) {}
  template <std::convertible_to<Tensor> T, class V>
  requires std::constructible_from<Nested, const V&> Feed(const T& tensor,
                                                          const std::vector<V>& values)  // NOLINT
      : Feed(tensor, Nested(std::vector<Nested>(values.begin(), values.end()))) {}
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

/// The values of IndexedSlices. (tf.IndexedSlicesValue)
struct IndexedSlicesValue {
  Array values;
  Array indices;
  std::optional<Array> dense_shape;
};

/// What a plan is made of: for comparing plans with and without a pass.
struct PlanCounts {
  std::size_t launches = 0;     ///< kernels a run
  std::size_t copies = 0;       ///< between memories
  std::size_t waits = 0;        ///< of one queue for another
  std::size_t arena_bytes = 0;  ///< of what lies in a frame, in all memories
  bool operator==(const PlanCounts&) const = default;
};

/// What a device keeps for one run.
struct DeviceHolding {
  std::string name;            ///< full device name
  std::string description;     ///< "simulated accelerator, ..."
  std::size_t step_bytes = 0;  ///< of values, workspaces and staging
  std::size_t variables = 0;   ///< masters, slots among them
  std::size_t variable_bytes = 0;
};

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
  requires(!std::same_as<T, IndexedSlices>) Array
      run(const T& fetch, const Feeds& feeds = {}, Site site = Site::current()) {
    const Fetch one = to_fetch(fetch, site);
    return run(std::span<const Fetch>(&one, 1), feeds)[0];
  }
  /// Of slices: their parts as they stand. A template, so that no list is taken for slices.
  template <std::same_as<IndexedSlices> T>
  IndexedSlicesValue run(const T& slices, const Feeds& feeds = {}) {
    return run_slices(slices, feeds);
  }
  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds = {});
  /// Of tensors, variables, gradients or operations in a list.
  template <FetchLike T>
  std::vector<Array> run(const std::vector<T>& fetches, const Feeds& feeds = {},
                         Site site = Site::current()) {
    return run(std::span<const Fetch>(to_fetches(fetches, site)), feeds);
  }
  /// Of pairs of a gradient and its variable, as `compute_gradients` returns them.
  template <class T>
  requires requires(const T& pair) {
    pair.grad;
    pair.var;
  }
  std::vector<std::pair<Array, Array>> run(const std::vector<T>& pairs, const Feeds& feeds = {},
                                           Site site = Site::current()) {
    std::vector<Fetch> fetches;
    for (const T& pair : pairs) {
      fetches.push_back(to_fetch(pair.grad, site));
      fetches.push_back(to_fetch(pair.var, site));
    }
    const std::vector<Array> values = run(std::span<const Fetch>(fetches), feeds);
    std::vector<std::pair<Array, Array>> result;
    for (std::size_t i = 0; i < values.size(); i += 2) {
      result.emplace_back(values[i], values[i + 1]);
    }
    return result;
  }

  /// The same, and how it went: with FULL_TRACE `metadata` says when each instruction was at work.
  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds,
                         const RunOptions& options, RunMetadata* metadata);

  /// A function that runs `fetches` with values for `feeds` given in their order, without looking
  /// the plan up again. (tf.Session.make_callable)
  /// It may outlive the session, whose `close` it then meets; `cancellation`, when given, ends its
  /// runs, the one under way and later ones, and must live as long as the function.
  Callable make_callable(std::vector<Fetch> fetches, std::vector<Tensor> feeds = {},
                         Cancellation* cancellation = nullptr);

  /// What the planner makes of a run, in words.
  std::string plan_report(std::span<const Fetch> fetches, const Feeds& feeds = {});
  /// Where each node of that run is placed, and why.
  std::vector<Placement> placements(std::span<const Fetch> fetches, const Feeds& feeds = {});
  /// What that run copies between memories, from whom to whom, and how many bytes.
  std::vector<Transfer> transfers(std::span<const Fetch> fetches, const Feeds& feeds = {});
  /// What each device keeps for that run.
  std::vector<DeviceHolding> device_holdings(std::span<const Fetch> fetches,
                                             const Feeds& feeds = {});
  /// The plan of that run in numbers.
  PlanCounts plan_counts(std::span<const Fetch> fetches, const Feeds& feeds = {});

  /// Ends waits in queues and cancels runs; later runs are errors. Called by the destructor.
  void close();

  Graph& graph() const;
  /// Full names of the devices. (tf.Session.list_devices)
  std::vector<std::string> list_devices() const;
  ResourceStore& resources();
  /// The same for those who may outlive the session.
  std::shared_ptr<ResourceStore> shared_resources();

 private:
  IndexedSlicesValue run_slices(const IndexedSlices& slices, const Feeds& feeds);

  std::shared_ptr<SessionImpl> impl_;
};

}  // namespace towerflow::types
