#include "core/runtime/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <set>

#include "core/device/cpu/cpu_backend.h"
#include "core/graph/log.h"
#include "core/runtime/executor.h"

namespace towerflow {
namespace {

constexpr std::size_t kMaxPlans = 128;  // the least recently used go first
constexpr int kManyPlans = 16;          // for one list of fetches: the feeds' shapes keep changing

/// A plan, its free frames, and the key under which it is found again.
struct CompiledRun {
  std::vector<std::pair<const Node*, int>> fetches;
  std::vector<std::pair<const Node*, int>> fed;
  std::vector<std::pair<DType, Shape>> fed_shapes;
  Plan plan;
  std::mutex mutex;
  std::vector<std::unique_ptr<Frame>> free_frames;
};

std::pair<const Node*, int> key_of(const Fetch& fetch) {
  return {&fetch.operation().node(), fetch.tensor() ? fetch.tensor()->index() : -1};
}

std::shared_ptr<Backend> make_cpu(const ConfigProto& config) {
  const auto it = config.device_count.find("CPU");
  const int count = it == config.device_count.end() ? 1 : it->second;
  if (count < 1) {
    throw ValueError(fmt::format("device_count of CPU must be at least 1, got {}", count));
  }
  if (config.intra_op_parallelism_threads < 0) {
    throw ValueError(fmt::format("intra_op_parallelism_threads must not be negative, got {}",
                                 config.intra_op_parallelism_threads));
  }
  return std::make_shared<CpuBackend>(count, config.intra_op_parallelism_threads);
}

}  // namespace

class Session::Impl {
 public:
  Impl(Graph& graph, ConfigProto config)
      : graph_(graph), config_(std::move(config)), devices_({make_cpu(config_)}) {}

  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds) {
    const auto compiled = find_plan(fetches, feeds);
    std::vector<Array> values;
    for (const Feed& feed : feeds) values.push_back(feed.value());
    return run_plan(*compiled, values);
  }

  std::vector<Array> run_plan(CompiledRun& compiled, std::span<const Array> feeds,
                              Cancellation* cancellation = nullptr) {
    const auto active = begin_run();
    std::optional<CancellationCallback> linked;
    if (cancellation != nullptr) {
      linked.emplace(*cancellation, [run = active.get()] { run->cancellation.cancel(); });
    }
    std::unique_ptr<Frame> frame = lease_frame(compiled);
    frame->begin(arenas_.take(compiled.plan.arena_bytes), feeds);
    RunContext context{resources_, active->cancellation};
    try {
      execute(compiled.plan, *frame, context, kernels_, workers_);
    } catch (...) {
      give_back(compiled, std::move(frame));
      rethrow_from_run();
    }
    std::vector<Array> results = frame->take_results();
    give_back(compiled, std::move(frame));
    return results;
  }

  std::shared_ptr<CompiledRun> find_plan(std::span<const Fetch> fetches, const Feeds& feeds) {
    check_open();
    check(fetches, feeds);
    std::lock_guard lock(mutex_);
    if (!all_fed(fetches, feeds)) check_devices();
    int same_fetches = 0;
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if (!matches_fetches(**it, fetches)) continue;
      ++same_fetches;
      if (!matches_feeds(**it, feeds)) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return plans_.front();
    }
    if (same_fetches + 1 == kManyPlans) {
      log_message(
          LogLevel::warning,
          fmt::format("the {}th plan for one list of fetches: each new shape of a fed value "
                      "is compiled anew; pad or bucket the feeds",
                      kManyPlans));
    }
    plans_.push_front(compile(fetches, feeds));
    if (plans_.size() > kMaxPlans) plans_.pop_back();
    return plans_.front();
  }

  void close() {
    std::lock_guard lock(active_mutex_);
    closed_ = true;
    for (ActiveRun* run : active_) run->cancellation.cancel();
    resources_.shut_down();
  }

  Graph& graph() const { return graph_; }
  const DeviceSet& devices() const { return devices_; }
  ResourceStore& resources() { return resources_; }

 private:
  struct ActiveRun {
    Cancellation cancellation;
    Impl* session = nullptr;
    ~ActiveRun() {
      std::lock_guard lock(session->active_mutex_);
      session->active_.erase(this);
    }
  };

  /// A callable that outlives its session may outlive the graph as well: it must not look at it.
  void check_open() {
    std::lock_guard lock(active_mutex_);
    if (closed_) throw RuntimeError("Attempted to use a closed Session.");
  }

  std::unique_ptr<ActiveRun> begin_run() {
    std::lock_guard lock(active_mutex_);
    if (closed_) throw RuntimeError("Attempted to use a closed Session.");
    auto run = std::make_unique<ActiveRun>();
    run->session = this;
    active_.insert(run.get());
    return run;
  }

  void check(std::span<const Fetch> fetches, const Feeds& feeds) const {
    for (const Fetch& fetch : fetches) {
      if (&fetch.operation().graph() != &graph_) {
        throw ValueError(
            fmt::format("Fetch argument '{}' is not an element of this session's graph",
                        fetch.operation().name()),
            {.hint = "pass the graph to the Session, or open it under as_default()"});
      }
    }
    std::set<std::pair<const Node*, int>> seen;
    for (const Feed& feed : feeds) {
      const Tensor& tensor = feed.tensor();
      if (&tensor.graph() != &graph_) {
        throw ValueError(
            fmt::format("Feed '{}' is not an element of this session's graph", tensor.name()));
      }
      if (!seen.insert({&tensor.node(), tensor.index()}).second) {
        throw ValueError(fmt::format("Tensor {} is fed twice", tensor.name()));
      }
      if (feed.value().dtype() != tensor.dtype()) {
        throw TypeError(fmt::format("Tensor {} takes {}, the fed value is {}", tensor.name(),
                                    dtype_name(tensor.dtype()), dtype_name(feed.value().dtype())));
      }
      if (!feed.value().shape().compatible(tensor.shape())) {
        throw ValueError(
            fmt::format("Cannot feed value of shape {} for Tensor {}, which has shape {}",
                        feed.value().shape().text(), tensor.name(), tensor.shape().text()),
            {.site = tensor.op().site()});
      }
    }
  }

  /// A session places its whole graph, also what no run needs: throws for a device that cannot be
  /// given. Looks at what is new since the last run.
  void check_devices() {
    std::string last, why;
    for (const std::size_t size = graph_.size(); placed_ < size; ++placed_) {
      const Operation operation = graph_.operation(placed_);
      if (operation.device() == last) continue;
      last = operation.device();
      devices_.choose(last, config_.allow_soft_placement,
                      {.site = operation.site(), .node = operation.name(), .op = operation.type()},
                      why);
    }
  }

  /// Fetches of nothing but fed tensors: there is nothing to place.
  static bool all_fed(std::span<const Fetch> fetches, const Feeds& feeds) {
    return std::all_of(fetches.begin(), fetches.end(), [&](const Fetch& fetch) {
      return fetch.tensor() && std::any_of(feeds.begin(), feeds.end(), [&](const Feed& feed) {
               return key_of(fetch) == key_of(Fetch(feed.tensor()));
             });
    });
  }

  static bool matches_fetches(const CompiledRun& run, std::span<const Fetch> fetches) {
    return std::equal(run.fetches.begin(), run.fetches.end(), fetches.begin(), fetches.end(),
                      [](const auto& key, const Fetch& fetch) { return key == key_of(fetch); });
  }
  static bool matches_feeds(const CompiledRun& run, const Feeds& feeds) {
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

  std::shared_ptr<CompiledRun> compile(std::span<const Fetch> fetches, const Feeds& feeds) {
    auto compiled = std::make_shared<CompiledRun>();
    std::vector<FeedSpec> specs;
    for (const Fetch& fetch : fetches) compiled->fetches.push_back(key_of(fetch));
    for (const Feed& feed : feeds) {
      compiled->fed.emplace_back(&feed.tensor().node(), feed.tensor().index());
      compiled->fed_shapes.emplace_back(feed.value().dtype(), feed.value().shape());
      specs.push_back({feed.tensor(), feed.value().dtype(), feed.value().shape()});
    }
    try {
      compiled->plan =
          compile_plan(fetches, specs, devices_, kernels_,
                       {.soft_placement = config_.allow_soft_placement, .passes = config_.passes});
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

  void log_placements(const Plan& plan) {
    for (const Placement& placement : plan.placements) {
      log_message(LogLevel::info,
                  fmt::format("{}: ({}): {}", placement.node, placement.op, placement.given));
    }
  }

  std::unique_ptr<Frame> lease_frame(CompiledRun& compiled) {
    {
      std::lock_guard lock(compiled.mutex);
      if (!compiled.free_frames.empty()) {
        auto frame = std::move(compiled.free_frames.back());
        compiled.free_frames.pop_back();
        return frame;
      }
    }
    return std::make_unique<Frame>(compiled.plan, devices_, resources_);
  }

  void give_back(CompiledRun& compiled, std::unique_ptr<Frame> frame) {
    arenas_.give_back(frame->end());
    std::lock_guard lock(compiled.mutex);
    compiled.free_frames.push_back(std::move(frame));
  }

  Graph& graph_;
  ConfigProto config_;
  DeviceSet devices_;
  ResourceStore resources_;
  KernelCache kernels_;
  ArenaPool arenas_;
  Workers workers_;
  std::mutex mutex_;  // guards plans_ and placed_
  std::list<std::shared_ptr<CompiledRun>> plans_;
  std::size_t placed_ = 0;   // nodes whose devices were looked at
  std::mutex active_mutex_;  // guards active_ and closed_
  std::set<ActiveRun*> active_;
  bool closed_ = false;
};

Session::Session(ConfigProto config) : Session(get_default_graph(), std::move(config)) {}
Session::Session(Graph& graph, ConfigProto config)
    : impl_(std::make_shared<Impl>(graph, std::move(config))) {}
Session::~Session() { close(); }

std::vector<Array> Session::run(std::span<const Fetch> fetches, const Feeds& feeds) {
  return impl_->run(fetches, feeds);
}

std::function<std::vector<Array>(std::span<const Array>)> Session::make_callable(
    std::vector<Fetch> fetches, std::vector<Tensor> feeds, Cancellation* cancellation) {
  return [impl = impl_, fetches = std::move(fetches), feeds = std::move(feeds), cancellation,
          compiled = std::shared_ptr<CompiledRun>()](std::span<const Array> values) mutable {
    if (values.size() != feeds.size()) {
      throw ValueError(
          fmt::format("the callable takes {} values, got {}", feeds.size(), values.size()));
    }
    bool fits = compiled != nullptr;
    for (std::size_t i = 0; fits && i < values.size(); ++i) {
      fits = compiled->fed_shapes[i] == std::pair(values[i].dtype(), values[i].shape());
    }
    if (!fits) {
      Feeds bound;
      for (std::size_t i = 0; i < values.size(); ++i) bound.emplace_back(feeds[i], values[i]);
      compiled = impl->find_plan(fetches, bound);
    }
    return impl->run_plan(*compiled, values, cancellation);
  };
}

std::string Session::plan_report(std::span<const Fetch> fetches, const Feeds& feeds) {
  return impl_->find_plan(fetches, feeds)->plan.text(impl_->devices());
}

std::vector<Placement> Session::placements(std::span<const Fetch> fetches, const Feeds& feeds) {
  return impl_->find_plan(fetches, feeds)->plan.placements;
}

void Session::close() { impl_->close(); }
Graph& Session::graph() const { return impl_->graph(); }
ResourceStore& Session::resources() { return impl_->resources(); }
std::shared_ptr<ResourceStore> Session::shared_resources() { return {impl_, &impl_->resources()}; }

std::vector<std::string> Session::list_devices() const {
  std::vector<std::string> names;
  for (const Device& device : impl_->devices().devices()) names.push_back(device.name);
  return names;
}

}  // namespace towerflow
