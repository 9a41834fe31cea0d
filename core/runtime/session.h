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
#include "core/runtime/run_forms.h"
#include "core/runtime/run_metadata.h"

namespace towerflow {

class Cancellation;
class ResourceStore;
class SessionImpl;

}  // namespace towerflow

namespace towerflow::types {

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
class Session : public RunForms<Session> {
 public:
  explicit Session(ConfigProto config = {});
  explicit Session(Graph& graph, ConfigProto config = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Computes `fetches`; the place of an Operation holds an empty Array. RunForms has its other
  /// forms: of one value, of braces, of lists, slices and pairs.
  /// Throws what the kernels throw; ValueError for a tensor of another graph or a feed that does
  /// not fit; RuntimeError after `close`.
  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds = {});
  using RunForms<Session>::run;
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
  std::shared_ptr<SessionImpl> impl_;
};

}  // namespace towerflow::types
