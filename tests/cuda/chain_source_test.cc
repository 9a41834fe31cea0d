// The texts of compiled chains: how they look, and what NVRTC makes of them for several cards. It
// needs no card.
#include "cuda/ops/chain_source.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "cuda/backend/driver.h"
#include "tests/cuda/changed_calls.h"
#include "tests/cuda/made_chains.h"
#include "tests/cuda/real_libraries.h"
#include "tests/cuda/recording.h"

using namespace towerflow;
using namespace towerflow::testing;
using cuda::chain_source, cuda::KernelSource;

namespace {

/// A layer with the real NVRTC, whose ptxas is asked what each kernel uses.
class RealCompiler final : public ChangedCalls {
 public:
  void change(cuda::Table& table) override {
    const cuda::Table& real = *cuda::testing::real_nvrtc();
#define TOWERFLOW_ENTRY(name) table.name = real.name;
    TOWERFLOW_CUDA_NVRTC(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
    table.nvrtcCompileProgram = &compile;
  }

  static inline std::string log;  ///< of the last program
  static inline std::string ptx;

 private:
  static nvrtcResult compile(nvrtcProgram program, int count, const char* const* options) {
    const cuda::Table& real = *cuda::testing::real_nvrtc();
    std::vector<const char*> all(options, options + count);
    all.push_back("--ptxas-options=-v");
    const nvrtcResult status =
        real.nvrtcCompileProgram(program, static_cast<int>(all.size()), all.data());
    std::size_t size = 0;
    real.nvrtcGetProgramLogSize(program, &size);
    log.resize(size);
    real.nvrtcGetProgramLog(program, log.data());
    ptx.clear();
    if (status == NVRTC_SUCCESS && real.nvrtcGetPTXSize(program, &size) == NVRTC_SUCCESS) {
      ptx.resize(size);
      real.nvrtcGetPTX(program, ptx.data());
    }
    return status;
  }
};

/// Compiles a kernel for a card of a compute capability. Returns whether NVRTC made PTX of it.
bool compile(int major, int minor, const KernelSource& source) {
  const auto driver = cuda::Driver::open({.count = 1, .emulated = true});
  cudaDeviceProp card{};
  card.major = major;
  card.minor = minor;
  RealCompiler::ptx.clear();
  // The emulation cannot load the machine code.
  CHECK(driver->compiled_kernels().find(card, source) == nullptr);
  return !RealCompiler::ptx.empty();
}

bool has_nvrtc() {
  const bool is_there = cuda::testing::real_nvrtc() != nullptr;
  if (!is_there) std::printf("libnvrtc.so.13 is not installed: nothing is compiled for cards\n");
  return is_there;
}

constexpr int kCards[][2] = {{7, 5}, {8, 0}, {9, 0}, {10, 0}};

/// All ops of chains, as steps of two inputs.
std::vector<MadeStep> every_op() {
  std::vector<MadeStep> steps{{ChainOp::Select, {input(0), input(1), input(0)}}};
#define TOWERFLOW_UNARY(op) steps.push_back({ChainOp::op, {input(0)}});
#define TOWERFLOW_BINARY(op) steps.push_back({ChainOp::op, {input(0), input(1)}});
  TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_UNARY)
  TOWERFLOW_PREDICATE_OPS(TOWERFLOW_UNARY)
  TOWERFLOW_UNARY(LogicalNot)
  TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_BINARY)
  TOWERFLOW_COMPARISON_OPS(TOWERFLOW_BINARY)
  TOWERFLOW_LOGICAL_OPS(TOWERFLOW_BINARY)
#undef TOWERFLOW_UNARY
#undef TOWERFLOW_BINARY
  return steps;
}

}  // namespace

TEST_SUITE("texts of chains") {
  TEST_CASE("each input is read in its way, and each step is a line") {
    const KernelSource source = chain_source(chain_of_rows(6, 8));
    CHECK(std::regex_match(source.name, std::regex("Chain_[0-9a-f]{16}")));
    CHECK(source.text == R"(#include "cuda/device/chain.cuh"

namespace towerflow::cuda::device {

TOWERFLOW_KERNEL()" + source.name +
                             R"(, 256, Chain chain, int64 n) {
  const Values x1 = load_number<float>(chain.input[1]);
  const Values x6 = load_number<bool>(chain.input[6]);
  for (int64 at = grid_thread() * kChainPack; at < n; at += grid_threads() * kChainPack) {
    const int count = neighbours(at, n);
    const Values x0 = load_whole<float>(chain.input[0], at, count);
    const Values x2 = load_row<float, 1>(chain, chain.input[2], 2, at);
    const Values x3 = load_row<float, 0>(chain, chain.input[3], 2, at);
    const Values x4 = load_whole<bool>(chain.input[4], at, count);
    const Values x5 = load_row<bool, 1>(chain, chain.input[5], 2, at);
    const Values x7 = load_strided<float>(chain, chain.input[7], 2, at, count);
    const Values s0 = map<Mul>(x0, x1);
    const Values s1 = map<AddV2>(s0, x2);
    const Values s2 = map<SquaredDifference>(s1, x3);
    const Values s3 = select(x4, s2, s1);
    const Values s4 = select(x5, s3, x3);
    const Values s5 = select(x6, s4, x2);
    const Values s6 = map<Tanh>(s5);
    const Values s7 = map<RealDiv>(s6, x7);
    store<float>(chain.result, at, count, s7);
  }
}

}  // namespace towerflow::cuda::device
)");
    // Of another size, but not of rows that packs cross.
    CHECK(chain_source(chain_of_rows(500, 12)).text == source.text);
    CHECK(chain_source(chain_of_rows(8, 6)).name != source.name);
    const std::string truth = chain_source(chain_of_truth()).text;
    CHECK(truth.find("x1 = load_strided<float>(chain, chain.input[1], 3, at, count);") !=
          std::string::npos);
    CHECK(truth.find("store<bool>(chain.result, at, count, s3);") != std::string::npos);
  }

  TEST_CASE("NVRTC keeps all values in registers, for each kind of card") {
    if (!has_nvrtc()) return;
    const ScopedLayer scope(std::make_shared<RealCompiler>());
    for (const auto& card : kCards) {
      for (const Chain& chain : {chain_of_rows(64, 64), chain_of_truth()}) {
        CAPTURE(card[0]);
        const KernelSource source = chain_source(chain);
        REQUIRE(compile(card[0], card[1], source));
        CHECK(RealCompiler::ptx.find(".entry " + source.name + "(") != std::string::npos);
        CHECK(RealCompiler::ptx.find(".local") == std::string::npos);
        CHECK(RealCompiler::log.find("0 bytes stack frame, 0 bytes spill stores") !=
              std::string::npos);
      }
    }
  }

  TEST_CASE("NVRTC knows the functor of each op") {
    if (!has_nvrtc()) return;
    const ScopedLayer scope(std::make_shared<RealCompiler>());
    const std::vector<MadeStep> steps = every_op();
    CHECK(steps.size() == 77);
    for (std::size_t first = 0; first < steps.size(); first += cuda::device::kMaxSteps) {
      const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = std::min(begin + cuda::device::kMaxSteps, steps.end());
      const bool compiled = compile(9, 0, chain_source(made_chain({{}, {}}, {begin, end}, {64})));
      CAPTURE(RealCompiler::log);
      CHECK(compiled);
    }
  }

  TEST_CASE("a kind of card that NVRTC does not know gets no kernel") {
    if (!has_nvrtc()) return;
    const ScopedLayer scope(std::make_shared<RealCompiler>());
    CHECK_FALSE(compile(99, 0, chain_source(chain_of_truth())));
  }
}
