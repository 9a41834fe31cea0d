// The kernels of compiled chains write the bytes that the interpreter of chains writes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cuda/backend/check.h"
#include "cuda/backend/device.h"
#include "cuda/ops/chain_source.h"
#include "tests/cuda/made_chains.h"
#include "tests/support/cuda_devices.h"

using namespace towerflow;
using namespace towerflow::testing;
using cuda::chain_source;
using Bytes = std::vector<std::byte>;

namespace {

/// A card, and a stream on it.
class Card {
 public:
  Card()
      : device_(std::make_shared<cuda::Device>(cuda::Driver::open(cuda_devices(1)), 0,
                                               "/device:GPU:0", 0)) {
    device_->select();
    TOWERFLOW_CUDA(table(), cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Card() { table().cudaStreamDestroy(stream_); }
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const cuda::Device& device() const { return *device_; }
  const cuda::Table& table() const { return device_->table(); }

  std::byte* upload(const Bytes& bytes) const {
    void* memory = nullptr;
    TOWERFLOW_CUDA(table(), cudaMalloc(&memory, bytes.size()));
    copy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
    return static_cast<std::byte*>(memory);
  }
  Bytes download(const std::byte* memory, std::size_t bytes) const {
    Bytes found(bytes);
    copy(found.data(), memory, bytes, cudaMemcpyDeviceToHost);
    return found;
  }
  void launch(cudaKernel_t kernel, Chain chain, std::int64_t n) const {
    void* arguments[] = {&chain, &n};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(2);
    config.blockDim = dim3(256);
    config.stream = stream_;
    TOWERFLOW_CUDA(table(),
                   cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments));
    TOWERFLOW_CUDA(table(), cudaStreamSynchronize(stream_));
  }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    TOWERFLOW_CUDA(table(), cudaMemcpyAsync(to, from, bytes, kind, stream_));
    TOWERFLOW_CUDA(table(), cudaStreamSynchronize(stream_));
  }

  std::shared_ptr<cuda::Device> device_;
  cudaStream_t stream_ = nullptr;
};

/// Values of an input, among them those of which arithmetic has special cases.
Bytes values_of(const Chain::Input& input, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count * (input.is_bool != 0 ? sizeof(bool) : sizeof(float)));
  for (std::size_t i = 0; i < count; ++i) {
    if (input.is_bool != 0) {
      bytes[i] = static_cast<std::byte>(random() % 2);
      continue;
    }
    constexpr float kSpecial[] = {0,        -0.0F,     1e-40F,
                                  INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN()};
    const float value = random() % 8 == 0 ? kSpecial[random() % std::size(kSpecial)]
                                          : std::uniform_real_distribution<float>(-3, 3)(random);
    std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
  }
  return bytes;
}

/// The result of a chain on `n` elements, with the bytes around it. Its operands stand `shift`
/// elements after an aligned address.
Bytes result_of(const Card& card, cudaKernel_t kernel, Chain chain, std::int64_t n, int shift) {
  const auto size_of = [](bool is_bool) { return is_bool ? sizeof(bool) : sizeof(float); };
  const auto most = static_cast<std::size_t>(2 * n + 8);  // more than any input has
  std::vector<std::byte*> memory;
  for (int k = 0; k < chain.inputs; ++k) {
    Chain::Input& input = chain.input[k];
    memory.push_back(card.upload(values_of(input, most, static_cast<unsigned>(k + 1))));
    input.data = memory.back() + static_cast<std::size_t>(shift) * size_of(input.is_bool != 0);
  }
  const std::size_t bytes = most * size_of(chain.result_is_bool != 0);
  memory.push_back(card.upload(Bytes(bytes, std::byte{0xab})));
  chain.result =
      memory.back() + static_cast<std::size_t>(shift) * size_of(chain.result_is_bool != 0);
  card.launch(kernel, chain, n);
  Bytes result = card.download(memory.back(), bytes);
  for (std::byte* const one : memory) card.table().cudaFree(one);
  return result;
}

void check_chain(const Chain& chain, std::int64_t n) {
  const Card card;
  const cudaKernel_t interpreter = card.device().kernel("Chain_float32");
  const cudaKernel_t compiled = card.device().compiled(chain_source(chain));
  REQUIRE(compiled != nullptr);
  for (const int shift : {0, 1, 4}) {
    CAPTURE(shift);
    const Bytes expected = result_of(card, interpreter, chain, n, shift);
    CHECK(expected != Bytes(expected.size(), std::byte{0xab}));
    CHECK((result_of(card, compiled, chain, n, shift) == expected));
  }
}

}  // namespace

TEST_SUITE("kernels of compiled chains") {
  TEST_CASE("inputs in rows of packs") { check_chain(chain_of_rows(70, 64), 70 * 64); }

  TEST_CASE("truth values, strides across rows, and a rest that is no pack") {
    check_chain(chain_of_truth(), 3 * 5 * 7);
  }

  TEST_CASE("more elements than the grid has threads, where arithmetic is special") {
    const Chain chain = made_chain({{}, {}},
                                   {{ChainOp::FloorMod, {input(0), input(1)}},
                                    {ChainOp::Maximum, {step(0), input(1)}},
                                    {ChainOp::Exp, {step(1)}},
                                    {ChainOp::IsFinite, {step(2)}},
                                    {ChainOp::Select, {step(3), step(2), input(0)}}},
                                   {4099});
    check_chain(chain, 4099);
  }
}
