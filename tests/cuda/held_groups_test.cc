// Groups of NCCL and what else happens on the cards meanwhile.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/device/backend_registry.h"
#include "cuda/backend/clique.h"
#include "cuda/backend/driver.h"
#include "tests/cuda/changed_calls.h"
#include "tests/cuda/recording.h"
#include "tests/models/contract_models.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::kContractModels;
using testing::ScopedLayer;

namespace {

ConfigProto gpus(int count, const std::string& visible = "") {
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = count, .emulated = true};
  config.passes.all_reduce.algorithm = AllReduce::nccl;
  config.gpu_options.visible_device_list = visible;
  return config;
}

/// Looks for calls that may wait for a card while a group is launched on some cards only.
class HalfLaunched final : public testing::ChangedCalls {
 public:
  HalfLaunched() { groups = meanwhile = 0; }
  void change(cuda::Table& table) override {
    table.ncclGroupStart = &start;
    table.ncclGroupEnd = &end;
    table.cudaMalloc = &allocate;
    table.cudaFree = &free_memory;
    table.cudaHostAlloc = &host_allocate;
    table.cudaFreeHost = &free_host;
    table.cudaGraphInstantiate = &instantiate;
    table.cudaGraphExecDestroy = &destroy;
  }

  static inline std::atomic<int> groups{0}, meanwhile{0};

 private:
  static ncclResult_t start() {
    under_way_ = true;
    return base_->ncclGroupStart();
  }
  static ncclResult_t end() {
    ++groups;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // between one card and the next
    const ncclResult_t status = base_->ncclGroupEnd();
    under_way_ = false;
    return status;
  }
  static void note() { meanwhile += under_way_ ? 1 : 0; }
  static cudaError_t allocate(void** memory, std::size_t bytes) {
    note();
    return base_->cudaMalloc(memory, bytes);
  }
  static cudaError_t free_memory(void* memory) {
    note();
    return base_->cudaFree(memory);
  }
  static cudaError_t host_allocate(void** memory, std::size_t bytes, unsigned flags) {
    note();
    return base_->cudaHostAlloc(memory, bytes, flags);
  }
  static cudaError_t free_host(void* memory) {
    note();
    return base_->cudaFreeHost(memory);
  }
  static cudaError_t instantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                 unsigned long long flags) {
    note();
    return base_->cudaGraphInstantiate(made, graph, flags);
  }
  static cudaError_t destroy(cudaGraphExec_t graph) {
    note();
    return base_->cudaGraphExecDestroy(graph);
  }

  static inline std::atomic<bool> under_way_{false};
};

/// Follows what streams wait for, and looks whether groups of different communicators are ordered.
class Ordered final : public testing::ChangedCalls {
 public:
  Ordered() {
    const std::lock_guard lock(mutex_);
    changes = unordered = 0;
    cards_.clear();
    last_.clear();
    events_.clear();
    waited_.clear();
  }
  void change(cuda::Table& table) override {
    table.ncclCommInitAll = &make;
    table.ncclAllReduce = &all_reduce;
    table.cudaEventRecord = &record;
    table.cudaStreamWaitEvent = &wait;
  }

  /// How often a group followed one of other communicators in another stream of a card, and how
  /// often without a wait.
  static inline int changes = 0, unordered = 0;
  /// So many may have been enqueued before the second communicators were made.
  static constexpr int first = 2;

 private:
  struct Call {
    int group = -1;  // of communicators
    cudaStream_t stream = nullptr;
    int number = 0;  // of the call
  };
  static ncclResult_t make(ncclComm_t* comms, int count, const int* devices) {
    const ncclResult_t status = base_->ncclCommInitAll(comms, count, devices);
    const std::lock_guard lock(mutex_);
    ++groups_;
    for (int i = 0; i < count; ++i) cards_[comms[i]] = {devices[i], groups_};
    return status;
  }
  static ncclResult_t all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                 ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
    {
      const std::lock_guard lock(mutex_);
      const auto [card, group] = cards_.at(comm);
      Call& last = last_[card];
      if (last.group >= 0 && last.group != group && last.stream != stream) {
        ++changes;
        unordered += waited_[{stream, last.stream}] < last.number ? 1 : 0;
      }
      last = {group, stream, ++calls_};
    }
    return base_->ncclAllReduce(from, to, count, type, reduction, comm, stream);
  }
  static cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
    const cudaError_t status = base_->cudaEventRecord(event, stream);
    const std::lock_guard lock(mutex_);
    events_[event] = {-1, stream, calls_};
    return status;
  }
  static cudaError_t wait(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    const cudaError_t status = base_->cudaStreamWaitEvent(stream, event, flags);
    const std::lock_guard lock(mutex_);
    const Call& recorded = events_[event];
    int& number = waited_[{stream, recorded.stream}];
    number = std::max(number, recorded.number);
    return status;
  }

  static inline std::mutex mutex_;
  static inline int groups_ = 0, calls_ = 0;
  static inline std::map<ncclComm_t, std::pair<int, int>> cards_;  // with the group
  static inline std::map<int, Call> last_;                         // of each card
  static inline std::map<cudaEvent_t, Call> events_;               // when they were recorded
  static inline std::map<std::pair<cudaStream_t, cudaStream_t>, int> waited_;
};

void train_lstm(const ConfigProto& config, int towers, int steps = 5) {
  Graph graph;
  const auto guard = graph.as_default();
  const auto scope = tf::variable_scope(tf::get_variable_scope(), {.home = VariableHome::mirrored});
  const testing::Step step = kContractModels.at("lstm")({.count = towers, .all = towers});
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  for (int i = 0; i < steps; ++i) session.run(step.fetches, step.feeds);
}

}  // namespace

TEST_SUITE("groups of NCCL") {
  TEST_CASE("no other thread makes a call that waits for a card while a group is launched") {
    const ScopedLayer scope(std::make_shared<HalfLaunched>());
    const auto backend = make_cuda_backend(gpus(2));
    std::atomic<bool> ended{false};
    std::thread other([&] {
      while (!ended) {
        backend->allocate(0, 64);
        backend->allocate_staging(64);
      }
    });
    train_lstm(gpus(2), 2);
    ended = true;
    other.join();
    CHECK(HalfLaunched::groups > 0);
    CHECK(HalfLaunched::meanwhile == 0);
  }

  TEST_CASE("on each card, groups of different communicators wait for each other") {
    const ScopedLayer scope(std::make_shared<Ordered>());
    std::thread two([] { train_lstm(gpus(4, "0,1"), 2, 20); });
    std::thread three([] { train_lstm(gpus(4, "0,2,1"), 3, 20); });
    two.join();
    three.join();
    CHECK(Ordered::changes > 10);
    CHECK(Ordered::unordered <= Ordered::first);
  }

  TEST_CASE("sessions with the same cards in another order share a clique") {
    const auto driver = cuda::Driver::open(gpus(2).cuda);
    driver->need(cuda::Group::nccl);
    const auto clique = driver->clique({0, 1});
    CHECK_NOTHROW(train_lstm(gpus(2, "1,0"), 2));
    CHECK_NOTHROW(train_lstm(gpus(2), 2));
  }
}
