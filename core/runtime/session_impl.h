#pragma once

#include <list>
#include <optional>
#include <set>

#include "core/runtime/executor.h"
#include "core/runtime/session.h"
#include "core/runtime/update_watch.h"

namespace towerflow {

/// A plan, its free frames, and the key of the plan cache.
struct CompiledRun {
  std::vector<std::pair<const Node*, int>> fetches;
  std::vector<std::pair<const Node*, int>> fed;
  std::vector<std::pair<DType, Shape>> fed_shapes;
  int worker = 0;
  Plan plan;
  bool trains = false;  ///< whether its runs are training steps; see UpdateWatch
  std::mutex mutex;
  std::vector<std::unique_ptr<Frame>> free_frames;  // with capacity for all frames
  std::size_t frames = 0;                           // number of frames made
};

/// The implementation of Session: devices, variables, plans, and active runs. Callables share
/// ownership, so it may outlive its Session and the graph; it accesses the graph only while open.
class SessionImpl final : public std::enable_shared_from_this<SessionImpl> {
 public:
  SessionImpl(Graph& graph, ConfigProto config);

  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds,
                         const RunOptions& options = {}, RunMetadata* metadata = nullptr);
  Callable make_callable(std::vector<Fetch> fetches, std::vector<Tensor> feeds,
                         Cancellation* cancellation);
  /// Runs the plan in `frame`, one of its frames, and moves the results to `results`.
  void run_in_frame(CompiledRun& compiled, Frame& frame, std::span<const Array> feeds,
                    std::vector<Array>& results, Cancellation* cancellation,
                    const RunOptions& options = {}, RunMetadata* metadata = nullptr);

  std::shared_ptr<CompiledRun> find_plan(std::span<const Fetch> fetches, const Feeds& feeds,
                                         int worker = 0);
  std::unique_ptr<Frame> lease_frame(CompiledRun& compiled);
  static void recycle_frame(CompiledRun& compiled, std::unique_ptr<Frame> frame) noexcept;
  void close();
  /// Compiles a graph of a loop during a run.
  Plan compile_subplan(PlanGraph graph, int worker);
  /// Throws RuntimeError if the session is closed.
  void check_open();

  Graph& graph() const { return graph_; }
  const DeviceSet& devices() const { return devices_; }
  ResourceStore& resources() { return resources_; }

 private:
  class ActiveRun;
  class LoopCompiler;

  void check(std::span<const Fetch> fetches, const Feeds& feeds) const;
  void check_devices();
  std::shared_ptr<CompiledRun> compile(std::span<const Fetch> fetches, const Feeds& feeds,
                                       int worker);
  void log_placements(const Plan& plan);

  Graph& graph_;
  ConfigProto config_;
  DeviceSet devices_;
  ResourceStore resources_;
  KernelCache kernels_;
  ArenaPool arenas_{devices_};
  Workers workers_;
  std::mutex mutex_;  // held while reading the graph; guards the members below
  std::list<std::shared_ptr<CompiledRun>> plans_;
  std::size_t placed_ = 0;   // number of nodes whose devices were checked
  ColocationGroups groups_;  // groups of those nodes
  HomeDevices homes_;
  bool logged_mapping_ = false;
  UpdateWatch updates_;
  std::mutex active_mutex_;  // guards active_ and closed_
  ActiveRun* active_ = nullptr;
  bool closed_ = false;
};

}  // namespace towerflow
