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
#include "core/runtime/default_session.h"
#include "core/runtime/placement.h"
#include "core/runtime/run_forms.h"
#include "core/runtime/run_metadata.h"

namespace towerflow {

class Cancellation;
class ResourceStore;
class SessionImpl;

}  // namespace towerflow

namespace towerflow::types {

/// The size of a plan, for comparing plans with and without a pass.
struct PlanCounts {
  std::size_t launches = 0;     ///< kernel launches per run
  std::size_t copies = 0;       ///< between memories
  std::size_t waits = 0;        ///< waits of one queue for another
  std::size_t arena_bytes = 0;  ///< memory of a frame, on all devices
  bool operator==(const PlanCounts&) const = default;
};

/// The memory that a run needs on one device.
struct DeviceHolding {
  std::string name;            ///< full device name
  std::string description;     ///< "simulated accelerator, ..."
  std::size_t step_bytes = 0;  ///< for values, workspaces and staging
  std::size_t variables = 0;   ///< number of variables stored there, including slots
  std::size_t variable_bytes = 0;
};

/// Runs parts of a graph and owns the values of its variables. (tf.Session)
///
/// `run` may be called from several threads. A run behaves as if its nodes ran one after another in
/// tape order. The session remains usable after an error. Destruction closes it.
class Session : public RunOverloads<Session> {
 public:
  explicit Session(ConfigProto config = {});
  explicit Session(Graph& graph, ConfigProto config = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Computes `fetches`; an Operation yields an empty Array. RunOverloads adds overloads for single
  /// values, lists, lists in braces, slices and pairs. Throws what the kernels throw; ValueError
  /// for a tensor of another graph or an invalid feed; RuntimeError after `close`.
  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds = {});
  using RunOverloads<Session>::run;
  /// Does the same and, with FULL_TRACE, stores the times of each instruction in `metadata`.
  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds,
                         const RunOptions& options, RunMetadata* metadata);

  /// Returns a function that runs `fetches` with values for `feeds`, in order, without looking up
  /// the plan again. (tf.Session.make_callable) It may outlive the session but fails after `close`.
  /// `cancellation`, if given, cancels its current and later runs and must outlive it.
  Callable make_callable(std::vector<Fetch> fetches, std::vector<Tensor> feeds = {},
                         Cancellation* cancellation = nullptr);

  /// Describes the plan of a run.
  std::string plan_report(std::span<const Fetch> fetches, const Feeds& feeds = {});
  /// Returns where each node of the run is placed, and why.
  std::vector<Placement> placements(std::span<const Fetch> fetches, const Feeds& feeds = {});
  /// Returns the copies between memories in the run, with their devices and sizes.
  std::vector<Transfer> transfers(std::span<const Fetch> fetches, const Feeds& feeds = {});
  /// Returns the memory that the run needs on each device.
  std::vector<DeviceHolding> device_holdings(std::span<const Fetch> fetches,
                                             const Feeds& feeds = {});
  /// Returns the size of the run's plan.
  PlanCounts plan_counts(std::span<const Fetch> fetches, const Feeds& feeds = {});

  /// Makes this the default session of the thread until the guard ends. (tf.Session.as_default)
  DefaultSessionGuard as_default();

  /// Cancels all runs and their waits in queues; later runs are errors. Called by the destructor.
  void close();

  Graph& graph() const;
  /// Returns the full names of the devices. (tf.Session.list_devices)
  std::vector<std::string> list_devices() const;
  ResourceStore& resources();
  /// Returns the same store for callers that may outlive the session.
  std::shared_ptr<ResourceStore> shared_resources();

 private:
  std::shared_ptr<SessionImpl> impl_;
};

/// A session that is the default of the thread that made it until it is closed or ends; with a
/// graph as argument, that graph is the default graph as long. (tf.InteractiveSession)
class InteractiveSession : public Session {
 public:
  explicit InteractiveSession(ConfigProto config = {});
  explicit InteractiveSession(Graph& graph, ConfigProto config = {});
  ~InteractiveSession();

  void close();

 private:
  InteractiveSession(Graph& graph, ConfigProto config, bool makes_default);

  std::optional<DefaultSessionGuard> session_guard_;
  std::optional<DefaultGraphGuard> graph_guard_;
};

}  // namespace towerflow::types
