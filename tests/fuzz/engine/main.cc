// libFuzzer's entry points for one target, TOWERFLOW_FUZZ_TARGET.
#include <algorithm>
#include <cstdint>

#include "core/graph/log.h"
#include "tests/fuzz/target.h"

namespace {

using towerflow::fuzz::Random;

const towerflow::fuzz::Target& target() { return towerflow::fuzz::TOWERFLOW_FUZZ_TARGET; }

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  towerflow::set_log_sink([](towerflow::LogLevel, std::string_view) {});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  towerflow::fuzz::run(target(), {reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Random random(seed);
  const auto plain = [](std::string& text, std::size_t limit) {
    const std::size_t held = text.size();
    text.resize(std::max<std::size_t>(limit, held));
    text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), held, text.size()));
  };
  target().mutate(bytes, most, random, plain);
  if (bytes.size() > most) bytes.resize(most);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
