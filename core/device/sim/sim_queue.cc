#include "core/device/sim/sim_queue.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "core/device/host_event.h"
#include "core/graph/error.h"

namespace towerflow {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Sleeps until `seconds` have passed since `start`; what is too short to sleep for is left out.
void last(Clock::time_point start, double seconds) {
  constexpr double kShortest = 20e-6;
  const double left = seconds - Seconds(Clock::now() - start).count();
  if (left > kShortest) std::this_thread::sleep_for(Seconds(left));
}

}  // namespace

SimQueue::SimQueue(int device, Lane lane, std::span<const std::shared_ptr<SimMemory>> memories,
                   const SimulatedDevices& options, ThreadPool& pool)
    : device_(device),
      memories_(memories),
      memory_(*memories[static_cast<std::size_t>(device)]),
      latency_(options.latency),
      bandwidth_(options.bandwidth),
      jitter_(options.jitter),
      random_(options.jitter_seed * 4096u + static_cast<unsigned>(device) * 4u +
              static_cast<unsigned>(lane)),
      cores_(pool) {
  if (const auto slow = options.slow.find(device); slow != options.slow.end()) {
    slowdown_ = slow->second;
  }
}

void SimQueue::hold_back() {
  if (jitter_ <= 0) return;
  std::uniform_real_distribution<double> draw(0, jitter_);
  std::this_thread::sleep_for(Seconds(draw(random_)));
}

void SimQueue::copy(void* to, const void* from, std::size_t bytes) {
  hold_back();
  const auto start = Clock::now();
  std::memcpy(visible(to), visible(from), bytes);
  last(start, latency_ + static_cast<double>(bytes) / bandwidth_);
}

void* SimQueue::visible(const void* address) const {
  auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  for (const auto& memory : memories_) {
    if (memory->holds(at)) return memory->visible(at);
  }
  return at;
}

void SimQueue::record(Event& event) { static_cast<HostEvent&>(event).set(); }

void SimQueue::wait(Event& event, Cancellation& cancellation) {
  static_cast<HostEvent&>(event).wait(cancellation);
}

void SimQueue::launch(const PreparedKernel& kernel, const LaunchArgs& args, std::size_t inputs,
                      std::size_t outputs) {
  hold_back();
  const auto own = [this](const void* address, const char* what, std::size_t index) {
    if (memory_.holds(address)) return;
    throw errors::InternalError(
        fmt::format("illegal memory access: {} {} does not lie in the memory of simulated "
                    "accelerator {}",
                    what, index, device_));
  };
  inputs_.resize(inputs);
  outputs_.resize(outputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    own(args.inputs[i], "input", i);
    inputs_[i] = memory_.visible(static_cast<const std::byte*>(args.inputs[i]));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    own(args.outputs[i], "output", i);
    outputs_[i] = memory_.visible(static_cast<std::byte*>(args.outputs[i]));
  }
  LaunchArgs seen = args;
  seen.inputs = inputs_.data();
  seen.outputs = outputs_.data();
  if (args.workspace != nullptr) seen.workspace = memory_.visible(args.workspace);
  const auto start = Clock::now();
  kernel.enqueue(cores_, seen);
  if (slowdown_ > 1) last(start, slowdown_ * Seconds(Clock::now() - start).count());
}

}  // namespace towerflow
