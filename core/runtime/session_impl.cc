#include "core/runtime/session_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/device/backend_registry.h"
#include "core/device/run_objects.h"
#include "core/device/virtual_host.h"
#include "core/device/wall_clock.h"
#include "core/graph/graph_mutex.h"
#include "core/graph/log.h"
#include "core/runtime/run_accesses.h"
#include "core/runtime/run_trace.h"

namespace towerflow {
namespace {

constexpr std::size_t kMaxPlans = 128;   // beyond that, the least recently used plan is dropped
constexpr int kPlansBeforeWarning = 16;  // plans for one list of fetches that cause a warning

std::pair<const Node*, int> key_of(const Fetch& fetch) {
  return {&fetch.operation().node(), fetch.tensor() ? fetch.tensor()->index() : -1};
}

[[noreturn]] void throw_not_fetchable(const Operation& operation) {
  throw ValueError(
      fmt::format(
          "Operation '{}' has been marked as not fetchable: it is part of a branch or a loop",
          operation.name()),
      {.site = operation.site(), .hint = "fetch the result of the tf::cond or tf::while_loop"});
}

/// Throws if a run cannot share the host's core with other runs on the virtual clock.
void check_virtual_host(const Plan& plan, const DeviceSet& devices) {
  const auto on_host = [&](const QueueProgram& queue) { return devices[queue.device].on_host(); };
  if (!plan.simulated) {
    throw errors::InvalidArgumentError("a step without simulated accelerators has no virtual time",
                                       {.hint = "--devices sim:N, or ConfigProto::simulated"});
  }
  if (std::count_if(plan.queues.begin(), plan.queues.end(), on_host) > 1) {
    throw errors::UnimplementedError(
        "a step on several logical CPUs has no virtual time among other workers",
        {.hint = "give the session one CPU"});
  }
}

/// Returns when the queues of a run have ended on the virtual clock, and 0 if it keeps none.
double virtual_end(const Plan& plan, Frame& frame) {
  double end = 0;
  if (!plan.simulated) return end;
  for (std::size_t queue = 0; queue < plan.queues.size(); ++queue) {
    end = std::max(end, frame.queue(queue).queue->virtual_time());
  }
  return end;
}

/// Returns whether all fetches are fed tensors, so that nothing needs to be placed.
bool all_fed(std::span<const Fetch> fetches, const Feeds& feeds) {
  std::set<std::pair<const Node*, int>> fed;
  for (const Feed& feed : feeds) fed.insert(key_of(Fetch(feed.tensor())));
  return std::all_of(fetches.begin(), fetches.end(),
                     [&](const Fetch& fetch) { return fed.contains(key_of(fetch)); });
}

bool matches_fetches(const CompiledRun& run, std::span<const Fetch> fetches) {
  return std::equal(run.fetches.begin(), run.fetches.end(), fetches.begin(), fetches.end(),
                    [](const auto& key, const Fetch& fetch) { return key == key_of(fetch); });
}
bool matches_feeds(const CompiledRun& run, const Feeds& feeds) {
  if (run.fed.size() != feeds.size()) return false;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const Feed& feed = feeds[i];
    if (run.fed[i] !=
            std::pair(static_cast<const Node*>(&feed.tensor().node()), feed.tensor().index()) ||
        run.fed_shapes[i] != std::pair(feed.value().dtype(), feed.value().shape())) {
      return false;
    }
  }
  return true;
}

}  // namespace

/// An active run, in the session's list for its lifetime.
class SessionImpl::ActiveRun {
 public:
  explicit ActiveRun(SessionImpl& session) : session_(session) {
    std::lock_guard lock(session.active_mutex_);
    if (session.closed_) throw RuntimeError("Attempted to use a closed Session.");
    next_ = std::exchange(session.active_, this);
    if (next_ != nullptr) next_->previous_ = this;
  }
  ~ActiveRun() {
    std::lock_guard lock(session_.active_mutex_);
    (previous_ == nullptr ? session_.active_ : previous_->next_) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;

  Cancellation cancellation;
  ActiveRun* next() const { return next_; }

 private:
  SessionImpl& session_;
  ActiveRun* previous_ = nullptr;
  ActiveRun* next_ = nullptr;
};

/// Compiles what the loops of a run need.
class SessionImpl::LoopCompiler final : public SubplanCompiler {
 public:
  LoopCompiler(SessionImpl& session, int worker) : session_(session), worker_(worker) {}
  Plan compile_subplan(PlanGraph graph) override {
    return session_.compile_subplan(std::move(graph), worker_);
  }
  bool splits_loops() const override { return session_.config_.passes.split_loops; }

 private:
  SessionImpl& session_;
  int worker_;
};

/// Checks that some devices can average gradients as the program wants it.
static void check_all_reduce(const AllReduceOptions& options, const DeviceSet& devices) {
  if (options.algorithm != AllReduce::nccl) return;
  std::string first;
  for (const Device& device : devices.devices()) {
    if (device.on_host()) continue;
    std::string refusal = device.backend->collective({device.index}).refusal;
    if (refusal.empty()) return;
    if (first.empty()) first = std::move(refusal);
  }
  throw errors::InvalidArgumentError(
      fmt::format("AllReduce::nccl: {}", first.empty() ? "the session has no GPUs" : first),
      {.hint = "leave the choice to AllReduce::automatic, or use AllReduce::shuffle"});
}

SessionImpl::SessionImpl(Graph& graph, ConfigProto config)
    : graph_(graph), config_(std::move(config)), devices_(make_backends(config_)) {
  check_all_reduce(config_.passes.all_reduce, devices_);
}

std::vector<Array> SessionImpl::run(std::span<const Fetch> fetches, const Feeds& feeds,
                                    const RunOptions& options, RunMetadata* metadata) {
  const auto compiled = find_plan(fetches, feeds, options.worker);
  std::vector<Array> values, results;
  for (const Feed& feed : feeds) values.push_back(feed.value());
  std::unique_ptr<Frame> frame = lease_frame(*compiled);
  try {
    run_in_frame(*compiled, *frame, values, results, nullptr, options, metadata);
  } catch (...) {
    recycle_frame(*compiled, std::move(frame));
    throw;
  }
  recycle_frame(*compiled, std::move(frame));
  return results;
}

void SessionImpl::run_in_frame(CompiledRun& compiled, Frame& frame, std::span<const Array> feeds,
                               std::vector<Array>& results, Cancellation* cancellation,
                               const RunOptions& options, RunMetadata* metadata) {
  ActiveRun active(*this);
  std::optional<CancellationCallback> linked;
  if (cancellation != nullptr) {
    linked.emplace(*cancellation, [run = &active] { run->cancellation.cancel(); });
  }
  VirtualHost* const host = options.virtual_host;
  if (host != nullptr) check_virtual_host(compiled.plan, devices_);
  const double virtual_start = host == nullptr ? 0 : host->now(options.worker);
  LoopCompiler compiler(*this, options.worker);
  RunObjects objects;
  RunContext context{resources_, active.cancellation, &objects};
  std::optional<RunAccesses> accesses;
  if (metadata != nullptr || options.interleaving != nullptr) {
    accesses.emplace(options.interleaving, options.run);
  }
  try {
    results.reserve(compiled.plan.fetches.size());  // nothing may fail after the run
    const bool traced = metadata != nullptr && options.trace_level != RunOptions::NO_TRACE;
    frame.begin(arenas_, feeds, traced);
    const double start = traced ? wall_clock_seconds() : 0;
    RunTrace trace;
    execute({.plan = compiled.plan,
             .frame = frame,
             .context = context,
             .kernels = kernels_,
             .devices = devices_,
             .arenas = &arenas_,
             .compiler = &compiler,
             .accesses = accesses ? &*accesses : nullptr,
             .virtual_host = host,
             .worker = options.worker,
             .virtual_start = virtual_start,
             .trace = traced ? &trace : nullptr},
            workers_);
    const double seconds = traced ? wall_clock_seconds() - start : 0;
    const double ended = virtual_end(compiled.plan, frame);
    if (host != nullptr) host->advance(options.worker, ended);
    frame.take_results(results);
    if (compiled.trains) updates_.count_step();
    if (metadata != nullptr) *metadata = {.nodes = {}, .staleness = accesses->staleness()};
    if (traced) {
      *metadata = {.nodes = trace.stats(compiled.plan, frame, devices_, start),
                   .simulated = compiled.plan.simulated,
                   .seconds = seconds,
                   .staleness = accesses->staleness()};
      for (NodeStats& stats : metadata->nodes) {
        if (!stats.loop.empty()) continue;
        stats.virtual_begin -= virtual_start;
        stats.virtual_end -= virtual_start;
      }
    }
    if (metadata != nullptr) metadata->virtual_seconds = ended - virtual_start;
  } catch (...) {
    frame.end(arenas_);
    if (accesses) accesses->abandon();
    rethrow_from_run();
  }
  frame.end(arenas_);
}

std::shared_ptr<CompiledRun> SessionImpl::find_plan(std::span<const Fetch> fetches,
                                                    const Feeds& feeds, int worker) {
  std::lock_guard lock(mutex_);
  check_open();
  check(fetches, feeds);
  if (placed_ < graph_.size() && !all_fed(fetches, feeds)) check_devices();
  int same_fetches = 0;
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if ((*it)->worker != worker || !matches_fetches(**it, fetches)) continue;
    ++same_fetches;
    if (!matches_feeds(**it, feeds)) continue;
    plans_.splice(plans_.begin(), plans_, it);
    return plans_.front();
  }
  if (same_fetches + 1 == kPlansBeforeWarning) {
    log_message(LogLevel::warning,
                fmt::format("this is the {}th plan for one list of fetches: each new shape of a "
                            "fed value needs another plan; pad or bucket the feeds",
                            kPlansBeforeWarning));
  }
  plans_.push_front(compile(fetches, feeds, worker));
  if (plans_.size() > kMaxPlans) plans_.pop_back();
  return plans_.front();
}

void SessionImpl::close() {
  {
    std::lock_guard lock(active_mutex_);
    closed_ = true;
    for (ActiveRun* run = active_; run != nullptr; run = run->next()) run->cancellation.cancel();
    resources_.shut_down();
  }
  const std::lock_guard planning(mutex_);  // waits for planning; the graph may be gone afterwards
}

Plan SessionImpl::compile_subplan(PlanGraph graph, int worker) {
  const std::lock_guard lock(mutex_);
  check_open();
  return compile_graph(std::move(graph), devices_, kernels_,
                       {.nested = true,
                        .worker = worker,
                        .groups = groups_,
                        .homes = &homes_,
                        .soft_placement = config_.allow_soft_placement,
                        .passes = config_.passes});
}

/// A callable that outlives its session may outlive the graph as well; this keeps it from using the
/// graph.
void SessionImpl::check_open() {
  std::lock_guard lock(active_mutex_);
  if (closed_) throw RuntimeError("Attempted to use a closed Session.");
}

void SessionImpl::check(std::span<const Fetch> fetches, const Feeds& feeds) const {
  for (const Fetch& fetch : fetches) {
    if (&fetch.operation().graph() != &graph_) {
      throw ValueError(fmt::format("Fetch argument '{}' is not an element of this session's graph",
                                   fetch.operation().name()),
                       {.hint = "pass the graph to the Session, or open it under as_default()"});
    }
    if (!fetch.operation().node().fetchable) throw_not_fetchable(fetch.operation());
  }
  if (feeds.empty()) return;
  const std::lock_guard lock(graph_.mutex());  // set_shape may run concurrently
  std::set<std::pair<const Node*, int>> seen;
  for (const Feed& feed : feeds) {
    const Tensor& tensor = feed.tensor();
    if (&tensor.graph() != &graph_) {
      throw ValueError(
          fmt::format("Feed '{}' is not an element of this session's graph", tensor.name()));
    }
    if (!tensor.node().feedable) {
      throw ValueError(fmt::format("Tensor {} may not be fed.", tensor.name()),
                       {.site = tensor.op().site(),
                        .hint = "it has another value in each iteration "
                                "of a loop"});
    }
    if (!seen.insert({&tensor.node(), tensor.index()}).second) {
      throw ValueError(fmt::format("Tensor {} is fed twice", tensor.name()));
    }
    if (feed.value().dtype() != tensor.dtype()) {
      throw TypeError(fmt::format("Tensor {} has dtype {}, but the fed value has dtype {}",
                                  tensor.name(), dtype_name(tensor.dtype()),
                                  dtype_name(feed.value().dtype())));
    }
    if (!feed.value().shape().compatible(tensor.shape())) {
      throw ValueError(
          fmt::format("Cannot feed value of shape {} for Tensor {}, which has shape {}",
                      feed.value().shape().text(), tensor.name(), tensor.shape().text()),
          {.site = tensor.op().site()});
    }
  }
}

/// Checks the devices of the nodes added since the last call; throws if one is not available. Like
/// TensorFlow, a session places its whole graph, including nodes that no run needs.
void SessionImpl::check_devices() {
  std::string last, why;
  for (const std::size_t size = graph_.published(); placed_ < size; ++placed_) {
    const Operation operation = graph_.operation(placed_);
    groups_.add(operation.node(), config_.allow_soft_placement);
    if (operation.device() == last) continue;
    last = operation.device();
    devices_.choose(last, config_.allow_soft_placement,
                    {.site = operation.site(), .node = operation.name(), .op = operation.type()},
                    why);
  }
}

std::shared_ptr<CompiledRun> SessionImpl::compile(std::span<const Fetch> fetches,
                                                  const Feeds& feeds, int worker) {
  auto compiled = std::make_shared<CompiledRun>();
  compiled->worker = worker;
  std::vector<FeedSpec> specs;
  for (const Fetch& fetch : fetches) compiled->fetches.push_back(key_of(fetch));
  for (const Feed& feed : feeds) {
    compiled->fed.emplace_back(&feed.tensor().node(), feed.tensor().index());
    compiled->fed_shapes.emplace_back(feed.value().dtype(), feed.value().shape());
    specs.push_back({feed.tensor(), feed.value().dtype(), feed.value().shape()});
  }
  try {
    compiled->plan = compile_plan(fetches, specs, devices_, kernels_,
                                  {.worker = worker,
                                   .groups = groups_,
                                   .homes = &homes_,
                                   .soft_placement = config_.allow_soft_placement,
                                   .passes = config_.passes,
                                   .look_at = [&](const PlanGraph& graph) {
                                     compiled->trains =
                                         updates_.trains(graph, graph_.collections());
                                   }});
  } catch (const Error&) {
    rethrow_from_run();
  }
  if (config_.log_device_placement) log_placements(compiled->plan);
  static const bool explain = [] {
    const char* wanted = std::getenv("TOWERFLOW_EXPLAIN");
    return wanted != nullptr && *wanted != '\0' && *wanted != '0';
  }();
  if (explain) log_message(LogLevel::info, compiled->plan.text(devices_));
  return compiled;
}

void SessionImpl::log_placements(const Plan& plan) {
  if (!std::exchange(logged_mapping_, true)) log_message(LogLevel::info, devices_.mapping());
  for (const Placement& placement : plan.placements) {
    log_message(LogLevel::info,
                fmt::format("{}: ({}): {}", placement.node, placement.op, placement.given));
  }
}

std::unique_ptr<Frame> SessionImpl::lease_frame(CompiledRun& compiled) {
  {
    std::lock_guard lock(compiled.mutex);
    if (!compiled.free_frames.empty()) {
      auto frame = std::move(compiled.free_frames.back());
      compiled.free_frames.pop_back();
      return frame;
    }
  }
  const auto make = [&] {
    auto frame = std::make_unique<Frame>(compiled.plan, devices_, resources_);
    std::lock_guard lock(compiled.mutex);
    compiled.free_frames.reserve(compiled.frames + 1);  // so that recycle_frame cannot fail
    ++compiled.frames;
    return frame;
  };
  try {
    return make();
  } catch (const errors::ResourceExhaustedError&) {
    // Idle arenas may fill the memory that replicas and constants need on a small device.
    if (!arenas_.free_idle_blocks()) throw;
  }
  return make();
}

void SessionImpl::recycle_frame(CompiledRun& compiled, std::unique_ptr<Frame> frame) noexcept {
  std::lock_guard lock(compiled.mutex);
  compiled.free_frames.push_back(std::move(frame));
}

}  // namespace towerflow
