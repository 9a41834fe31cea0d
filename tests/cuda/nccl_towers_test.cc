// Towers on emulated GPUs average their gradients by NCCL.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/changed_calls.h"
#include "tests/cuda/recording.h"
#include "tests/models/contract_models.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::kContractModels;
using testing::largest_difference;
using testing::ScopedLayer;
using testing::Step;
using testing::trained;

namespace {

std::function<Step()> made(const std::string& model, int towers, VariableHome home) {
  return [=] {
    const auto scope = tf::variable_scope(tf::get_variable_scope(), {.home = home});
    return kContractModels.at(model)({.count = towers, .all = towers});
  };
}

ConfigProto gpus(int count, std::uint64_t seed, AllReduceOptions options = {AllReduce::nccl}) {
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = count, .emulated = true, .seed = seed};
  config.passes.all_reduce = options;
  return config;
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// A layer in which a call of one rank gets lost, as if its card had failed, or the end of a group
/// fails; once each time that it is armed.
class NcclFaults final : public testing::ChangedCalls {
 public:
  enum class Fault { none, lost_call, failed_group };

  void change(cuda::Table& table) override {
    table.ncclAllReduce = &all_reduce;
    table.ncclGroupEnd = &end_group;
    table.ncclCommGetAsyncError = &async_error;
    table.ncclCommInitAll = &make;
    table.ncclCommAbort = &abort;
  }

  static inline std::atomic<Fault> fault{Fault::none};
  static inline std::atomic<int> made{0}, aborted{0};

 private:
  static ncclResult_t all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                 ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
    Fault lost = Fault::lost_call;
    if (fault.compare_exchange_strong(lost, Fault::none)) {
      failed_ = true;
      return ncclSuccess;
    }
    return base_->ncclAllReduce(from, to, count, type, reduction, comm, stream);
  }
  static ncclResult_t end_group() {
    const ncclResult_t status = base_->ncclGroupEnd();
    Fault failed = Fault::failed_group;
    return fault.compare_exchange_strong(failed, Fault::none) ? ncclSystemError : status;
  }
  static ncclResult_t async_error(ncclComm_t comm, ncclResult_t* error) {
    if (!failed_) return base_->ncclCommGetAsyncError(comm, error);
    *error = ncclRemoteError;
    return ncclSuccess;
  }
  static ncclResult_t make(ncclComm_t* comms, int count, const int* devices) {
    ++made;
    return base_->ncclCommInitAll(comms, count, devices);
  }
  static ncclResult_t abort(ncclComm_t comm) {
    ++aborted;
    failed_ = false;
    return base_->ncclCommAbort(comm);
  }

  static inline std::atomic<bool> failed_{false};
};

/// Two towers that share a weight, whose labels are fed.
struct Classifier {
  Classifier() {
    tf::set_random_seed(4);
    std::vector<std::vector<GradAndVar>> tower_grads;
    tf::train::GradientDescentOptimizer opt(0.5);
    {
      const auto vars =
          tf::variable_scope(tf::get_variable_scope(), {.home = VariableHome::mirrored});
      for (int i = 0; i < 2; ++i) {
        const auto gpu = tf::device("/gpu:" + std::to_string(i));
        const auto scope = tf::name_scope("tower_" + std::to_string(i));
        labels.push_back(tf::placeholder(tf::int32, {.shape = {4}}));
        const Tensor logits = tf::matmul(tf::random_uniform({4, 8}), tf::get_variable("w", {8, 5}));
        tower_grads.push_back(
            opt.compute_gradients(tf::reduce_mean(tf::nn::sparse_softmax_cross_entropy_with_logits(
                {.labels = labels.back(), .logits = logits}))));
        tf::get_variable_scope().reuse_variables();
      }
    }
    train = opt.apply_gradients(average_gradients(tower_grads));
    weights = tf::trainable_variables()[0];
  }
  void run(Session& session, int label = 1) const {
    const auto value = [](int first) {
      return Array::of(Shape{4}, std::vector<std::int32_t>{first, 2, 3, 4});
    };
    session.run(train, {{labels[0], value(0)}, {labels[1], value(label)}});
  }

  std::vector<Tensor> labels;
  Operation train;
  tf::Variable weights;
};

}  // namespace

TEST_SUITE("NCCL between emulated GPUs") {
  TEST_CASE("gradients are averaged to the values of the host's update, repeatably") {
    for (const int count : {2, 4}) {
      for (const char* name : {"gan", "lstm", "mnist", "resnet8"}) {
        const std::string model = name;
        CAPTURE(count);
        CAPTURE(model);
        const auto expected = trained(made(model, count, VariableHome::host), gpus(count, 0, {}));
        const auto make = made(model, count, VariableHome::mirrored);
        const auto found = trained(make, gpus(count, 0), [&](Session& session, const Step& step) {
          const std::string report = session.plan_report(step.fetches, step.feeds);
          CHECK(report.find("all-reduce: nccl averaged ") != report.npos);
          CHECK(count_of(report, "_AllReduce [host emulation, NCCL]") >=
                static_cast<std::size_t>(count));
        });
        CHECK(largest_difference(found, expected) < 1e-6);
        for (const std::uint64_t seed : {1, 2}) {
          CAPTURE(seed);
          CHECK(trained(make, gpus(count, seed)) == found);
        }
      }
    }
  }

  TEST_CASE("small buckets make more calls, in one order on all devices") {
    const auto make = made("lstm", 3, VariableHome::mirrored);
    const auto expected = trained(make, gpus(3, 0));
    for (const std::uint64_t seed : {1, 2, 3}) {
      std::size_t calls = 0;
      const auto found = trained(
          make, gpus(3, seed, {AllReduce::nccl, 1}), [&](Session& session, const Step& step) {
            calls = count_of(session.plan_report(step.fetches, step.feeds), "_AllReduce [");
          });
      CHECK(calls > 6);
      CHECK(calls % 3 == 0);
      CHECK(largest_difference(found, expected) < 1e-6);
    }
  }

  TEST_CASE("the algorithms of our own run on GPUs too") {
    const auto expected = trained(made("lstm", 4, VariableHome::host), gpus(4, 0, {}));
    const auto make = made("lstm", 4, VariableHome::mirrored);
    for (const AllReduce algorithm : {AllReduce::gather, AllReduce::shuffle, AllReduce::ring,
                                      AllReduce::tree, AllReduce::hierarchical}) {
      CAPTURE(static_cast<int>(algorithm));
      const auto check = [&](Session& session, const Step& step) {
        const std::string report = session.plan_report(step.fetches, step.feeds);
        CHECK((report.find("all-reduce: ") != report.npos) == (algorithm != AllReduce::gather));
        CHECK(report.find("_AllReduce [") == report.npos);
      };
      const auto found = trained(make, gpus(4, 1, {algorithm}), check);
      CHECK(largest_difference(found, expected) < 1e-6);
    }
  }

  TEST_CASE("who does not choose gets NCCL between cards, and gather on one card") {
    const auto make = made("lstm", 2, VariableHome::mirrored);
    for (const int share : {1, 2}) {
      CAPTURE(share);
      ConfigProto config = gpus(2, 0, {});
      config.cuda.share = share;
      trained(make, config, [&](Session& session, const Step& step) {
        const std::string report = session.plan_report(step.fetches, step.feeds);
        CHECK((report.find("_AllReduce [") != report.npos) == (share == 1));
      });
    }
  }

  TEST_CASE("NCCL where it cannot be is an error that says why") {
    const auto text_of = [](const ConfigProto& config) {
      return testing::error_text([&] { trained(made("lstm", 2, VariableHome::mirrored), config); });
    };
    ConfigProto one_card = gpus(2, 0);
    one_card.cuda.share = 2;
    const std::string shared = text_of(one_card);
    CAPTURE(shared);
    CHECK(shared.find("NCCL cannot average the gradients: /device:GPU:0 and /device:GPU:1 are on "
                      "one card, number 0") != shared.npos);
    CHECK(shared.find("AllReduce::automatic") != shared.npos);
    ConfigProto simulated{.allow_soft_placement = true, .simulated = {.count = 2}};
    simulated.passes.all_reduce.algorithm = AllReduce::nccl;
    CHECK(text_of(simulated).find("SIM:0 is a simulated accelerator, and NCCL is for GPUs only") !=
          std::string::npos);
    ConfigProto cpus{.device_count = {{"CPU", 2}}, .allow_soft_placement = true};
    cpus.passes.all_reduce.algorithm = AllReduce::nccl;
    CHECK(text_of(cpus).find("the session has no GPUs") != std::string::npos);
  }

  TEST_CASE("a run that fails before its call leaves no stream waiting") {
    Graph graph;
    const auto guard = graph.as_default();
    const Classifier model;
    for (const std::uint64_t seed : {0, 1, 2}) {
      Session session(graph, gpus(2, seed));
      session.run(tf::global_variables_initializer());
      const Array before = session.run(model.weights);
      for (int i = 0; i < 3; ++i) {
        const std::string text = testing::error_text([&] { model.run(session, 9); });
        CHECK(text.find("Received a label value of 9") != text.npos);
        CHECK(session.run(model.weights) == before);
      }
      model.run(session);
      CHECK(session.run(model.weights) != before);
    }
  }

  TEST_CASE("several runs of a session call in one order") {
    Graph graph;
    const auto guard = graph.as_default();
    const Classifier model;
    Session session(graph, gpus(2, 5));
    session.run(tf::global_variables_initializer());
    std::vector<std::thread> threads;
    std::atomic<int> failures = 0;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        try {
          for (int step = 0; step < 5; ++step) model.run(session);
        } catch (const std::exception&) {
          ++failures;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 0);
  }

  TEST_CASE("after a fault of NCCL the step ends with its error, and the next one works") {
    using Fault = NcclFaults::Fault;
    const ScopedLayer scope(std::make_shared<NcclFaults>());
    for (const Fault fault : {Fault::lost_call, Fault::failed_group}) {
      Graph graph;
      const auto guard = graph.as_default();
      const Classifier model;
      Session session(graph, gpus(2, 3));
      session.run(tf::global_variables_initializer());
      NcclFaults::made = NcclFaults::aborted = 0;
      model.run(session);
      CHECK(NcclFaults::made == 1);
      NcclFaults::fault = fault;
      const std::string text = testing::error_text([&] { model.run(session); });
      CAPTURE(text);
      CHECK(text.find(fault == Fault::lost_call ? "ncclRemoteError" : "ncclSystemError") !=
            text.npos);
      CHECK(NcclFaults::aborted == 2);
      const Array before = session.run(model.weights);
      model.run(session);
      CHECK(session.run(model.weights) != before);
      CHECK(NcclFaults::made == 2);
    }
  }
}
