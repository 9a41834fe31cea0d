// Chains of elementwise ops on GPUs in sessions: which are compiled, how often, and what happens
// where they cannot be.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cuda/backend/driver.h"
#include "tests/cuda/chain_threshold.h"
#include "tests/cuda/changed_calls.h"
#include "tests/cuda/recording.h"
#include "tests/models/steps.h"
#include "tests/support/cuda_devices.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

constexpr std::int64_t kNever = std::int64_t{1} << 40;

struct Ran {
  Array value;
  bool compiled = false, interpreted = false;  ///< whether the plan says so
};

/// Adds a chain to the graph, and what it is fed.
using Make = std::function<Tensor(Feeds&)>;

/// Runs a chain on /gpu:0 of as many GPUs, or on the CPU without.
Ran run_chain(const Make& make, int gpus, std::int64_t from) {
  const CompileFrom scope(from);
  Graph graph;
  const auto guard = graph.as_default();
  const auto device = tf::device("/gpu:0");
  Feeds feeds;
  const Tensor y = make(feeds);
  ConfigProto config{.allow_soft_placement = true};
  if (gpus > 0) config.cuda = cuda_devices(gpus);
  Session session(graph, config);
  const std::string plan = session.plan_report(std::vector<Fetch>{y}, feeds);
  const auto says = [&](const char* label) {
    return plan.find("_Elementwise [" + cuda_label(label) + "]") != std::string::npos;
  };
  return {session.run(y, feeds), says("NVRTC"), says("cuda")};
}

Tensor fed(Feeds& feeds, const Array& value) {
  const Tensor x = tf::placeholder(value.dtype(), {.shape = value.shape()});
  feeds.emplace_back(x, value);
  return x;
}

Make tanh_of_rows(const Shape& shape) {
  return [shape](Feeds& feeds) {
    const Tensor x = fed(feeds, ramp(shape)), bias = fed(feeds, ramp({shape.size(1)}));
    return tf::tanh(x * 2.0F + bias) - tf::exp(bias) * x;
  };
}

/// NVRTC's calls, of which a layer makes some fail or counts them.
class Compiler final : public testing::ChangedCalls {
 public:
  enum class Kind { counted, missing, refuses, wrong_code };

  explicit Compiler(Kind kind) : kind_(kind) { compilations = unloaded = 0; }
  void change(cuda::Table& table) override {
    table.cudaLibraryUnload = &unload;
    if (table.nvrtcCompileProgram == nullptr) return;
    table.nvrtcCompileProgram = kind_ == Kind::refuses ? &refuse : &compile;
    if (kind_ == Kind::missing) table.nvrtcCreateProgram = nullptr;
    if (kind_ == Kind::wrong_code) table.nvrtcGetCUBIN = &give_wrong_code;
  }

  static inline std::atomic<int> compilations = 0, unloaded = 0;

 private:
  static nvrtcResult compile(nvrtcProgram program, int count, const char* const* options) {
    ++compilations;
    return base_->nvrtcCompileProgram(program, count, options);
  }
  static nvrtcResult refuse(nvrtcProgram, int, const char* const*) {
    return NVRTC_ERROR_COMPILATION;
  }
  static nvrtcResult give_wrong_code(nvrtcProgram program, char* code) {
    const nvrtcResult status = base_->nvrtcGetCUBIN(program, code);
    code[0] = '?';
    return status;
  }
  static cudaError_t unload(cudaLibrary_t library) {
    ++unloaded;
    return base_->cudaLibraryUnload(library);
  }

  Kind kind_;
};

}  // namespace

TEST_SUITE("chains on GPUs") {
  TEST_CASE("a compiled chain gives the bits of the interpreted one, and the CPU's values") {
    const std::vector<Make> chains = {
        tanh_of_rows({6, 20}),
        [](Feeds& feeds) {  // rows of 7, and a number for each; the result is a truth value
          const Tensor x = fed(feeds, ramp({5, 7})), column = fed(feeds, ramp({5, 1}));
          return tf::logical_and(tf::greater(x * 3.0F, column), tf::less(column, 0.4F));
        },
        [](Feeds& feeds) {  // channels of images: dimensions are joined around them
          const Tensor x = fed(feeds, ramp({2, 3, 4, 5})), channels = fed(feeds, ramp({3, 1, 1}));
          return tf::nn::relu(x * channels) + tf::square(channels - x);
        },
        [](Feeds& feeds) {
          const Tensor x = fed(feeds, ramp({33})), y = fed(feeds, ramp({1}));
          return tf::where_v2(tf::greater(x, y), tf::sqrt(tf::abs(x)), x / (y + 1.0F));
        }};
    for (const auto& make : chains) {
      const Ran compiled = run_chain(make, 1, 1), interpreted = run_chain(make, 1, kNever);
      CHECK((compiled.compiled && !compiled.interpreted));
      CHECK((interpreted.interpreted && !interpreted.compiled));
      CHECK(compiled.value == interpreted.value);
      const Ran cpu = run_chain(make, 0, kNever);
      if (cpu.value.dtype() == DType::bool_) {
        CHECK(compiled.value == cpu.value);
      } else {
        CHECK(largest_difference({compiled.value}, {cpu.value}) < 1e-5);
      }
    }
  }

  TEST_CASE("chains of 65,536 elements and more are compiled") {
    const std::int64_t from = cuda::least_compiled_elements();
    CHECK(from == 65536);
    CHECK(run_chain(tanh_of_rows({256, 256}), 1, from).compiled);
    CHECK(run_chain(tanh_of_rows({257, 255}), 1, from).interpreted);
  }

  TEST_CASE("a chain is compiled once for all sessions and cards of a kind") {
    {
      const ScopedLayer scope(std::make_shared<Compiler>(Compiler::Kind::counted));
      const auto on_the_other = [](Feeds& feeds) {
        const auto device = tf::device("/gpu:1");
        return tanh_of_rows({7, 12})(feeds);
      };
      CHECK(run_chain(tanh_of_rows({3, 8}), 1, 1).compiled);
      CHECK(run_chain(tanh_of_rows({3, 8}), 1, 1).compiled);
      CHECK(run_chain(on_the_other, 2, 1).compiled);
      CHECK(Compiler::compilations == 1);
      CHECK(run_chain(tanh_of_rows({3, 7}), 1, 1).compiled);  // packs cross rows
      CHECK(Compiler::compilations == 2);
      CHECK(Compiler::unloaded == 0);
    }
    CHECK(Compiler::unloaded == 2);  // with the driver
  }

  TEST_CASE("threads that want one kernel compile it once") {
    const ScopedLayer scope(std::make_shared<Compiler>(Compiler::Kind::counted));
    const auto driver = cuda::Driver::open(cuda_devices(1));
    const auto source = [](const std::string& name) {
      return cuda::KernelSource{name, "#include \"cuda/device/chain.cuh\"\nTOWERFLOW_KERNEL(" +
                                          name + ", 256, float* x) { *x = 1; }\n"};
    };
    std::vector<cudaKernel_t> found(6);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] {
        driver->select(0);
        found[i] = driver->compiled_kernels().find(driver->devices()[0],
                                                   source(i % 2 == 0 ? "even" : "odd"));
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(Compiler::compilations == 2);
    CHECK(found[0] != nullptr);
    CHECK(found[0] != found[1]);
    for (std::size_t i = 2; i < found.size(); ++i) CHECK(found[i] == found[i % 2]);
  }

  TEST_CASE("where NVRTC cannot compile a chain, it is interpreted") {
    const Make make = tanh_of_rows({6, 20});
    const Ran expected = run_chain(make, 1, kNever);
    using Kind = Compiler::Kind;
    for (const Kind kind : {Kind::missing, Kind::refuses, Kind::wrong_code}) {
      CAPTURE(static_cast<int>(kind));
      const ScopedLayer scope(std::make_shared<Compiler>(kind));
      for (int session = 0; session < 2; ++session) {
        const Ran ran = run_chain(make, 1, 1);
        CHECK((ran.interpreted && !ran.compiled));
        CHECK(ran.value == expected.value);
      }
      // Nobody tries again.
      CHECK(Compiler::compilations == (kind == Kind::wrong_code ? 1 : 0));
    }
  }
}
