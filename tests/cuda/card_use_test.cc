// Which cards a session uses. On a machine with GPUs, a call of a thread that has selected none is
// one to card 0.
#include <doctest/doctest.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "core/device/pinned_memory.h"
#include "tests/cuda/changed_calls.h"
#include "tests/cuda/recording.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::ScopedLayer;

namespace {

/// Notes calls that give a process memory on a card, with the card that the thread has selected.
class CardUse final : public testing::ChangedCalls {
 public:
  CardUse() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }
  void change(cuda::Table& table) override {
    table.cudaSetDevice = &set_device;
    table.cudaMalloc = &allocate;
    table.cudaHostAlloc = &host_allocate;
    table.cudaHostRegister = &host_register;
    table.cudaHostUnregister = &host_unregister;
    table.cudaEventQuery = &event_query;
    table.cudaEventCreateWithFlags = &event_create;
    table.cudaStreamCreateWithFlags = &stream_create;
  }
  static std::set<std::string> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  static void note(const char* call) {
    const std::lock_guard lock(mutex_);
    calls_.insert(std::string(call) + " " + std::to_string(current_));
  }
  static cudaError_t set_device(int card) {
    const cudaError_t status = base_->cudaSetDevice(card);
    if (status == cudaSuccess) current_ = card;
    return status;
  }
  static cudaError_t allocate(void** memory, std::size_t bytes) {
    note("cudaMalloc");
    return base_->cudaMalloc(memory, bytes);
  }
  static cudaError_t host_allocate(void** memory, std::size_t bytes, unsigned flags) {
    note("cudaHostAlloc");
    return base_->cudaHostAlloc(memory, bytes, flags);
  }
  static cudaError_t host_register(void* memory, std::size_t bytes, unsigned flags) {
    note("cudaHostRegister");
    return base_->cudaHostRegister(memory, bytes, flags);
  }
  static cudaError_t host_unregister(void* memory) {
    note("cudaHostUnregister");
    return base_->cudaHostUnregister(memory);
  }
  static cudaError_t event_query(cudaEvent_t event) {
    note("cudaEventQuery");
    return base_->cudaEventQuery(event);
  }
  static cudaError_t event_create(cudaEvent_t* event, unsigned flags) {
    note("cudaEventCreateWithFlags");
    return base_->cudaEventCreateWithFlags(event, flags);
  }
  static cudaError_t stream_create(cudaStream_t* stream, unsigned flags) {
    note("cudaStreamCreateWithFlags");
    return base_->cudaStreamCreateWithFlags(stream, flags);
  }

  static inline thread_local int current_ = 0;
  static inline std::mutex mutex_;
  static inline std::set<std::string> calls_;
};

/// Makes steps on the only GPU that the session sees: pinned variables, random numbers, labels that
/// are checked, and results that the host awaits.
void train_on(int card) {
  Graph graph;
  const auto guard = graph.as_default();
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = 4, .emulated = true};
  config.gpu_options.visible_device_list = std::to_string(card);
  tf::train::GradientDescentOptimizer opt(0.5);
  const Tensor labels = tf::placeholder(tf::int32, {.shape = {4}});
  Tensor loss = [&] {
    const auto gpu = tf::device("/gpu:0");
    const Tensor logits = tf::matmul(tf::random_uniform({4, 8}), tf::get_variable("w", {8, 5}));
    return tf::reduce_mean(
        tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits}));
  }();
  const Operation train = opt.minimize(loss);
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  const Array fed = Array::of(Shape{4}, std::vector<std::int32_t>{1, 2, 3, 4});
  for (int step = 0; step < 3; ++step) session.run(train, {{labels, fed}});
}

}  // namespace

TEST_SUITE("cards that a session uses") {
  TEST_CASE("a session does not touch a card that it cannot see") {
    for (const int card : {1, 3}) {
      const ScopedLayer scope(std::make_shared<CardUse>());
      // Threads that have used no card before.
      std::thread([card] { train_on(card); }).join();
      const std::string own = " " + std::to_string(card);
      for (const std::string& call : CardUse::calls()) {
        CAPTURE(call);
        CHECK(call.ends_with(own));
      }
      for (const char* call : {"cudaHostAlloc", "cudaHostRegister", "cudaEventQuery"}) {
        CHECK(CardUse::calls().contains(call + own));
      }
    }
  }
}
