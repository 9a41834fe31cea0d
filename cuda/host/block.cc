#include "cuda/host/block.h"

#include <algorithm>

namespace towerflow::cuda::host {
namespace {

constexpr unsigned kLanes = 32;

std::string text(uint3 index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ")";
}

}  // namespace

BlockRunner::BlockRunner(const HostKernel& kernel, const Launch& launch, void* const* arguments)
    : kernel_(kernel),
      launch_(launch),
      arguments_(arguments),
      shared_(kernel.meets ? kernel.static_shared : 0, kernel.meets ? launch.shared : 0) {
  if (!kernel.meets) {
    loop_ = std::make_unique<Fiber>(run_loop, this);
    return;
  }
  threads_.resize(launch.threads.x * launch.threads.y * launch.threads.z);
  for (unsigned i = 0; i < count(); ++i) {
    threads_[i].index = index_of(i);
    threads_[i].fiber = std::make_unique<Fiber>(run_thread, this);
  }
  warp_epochs_.resize((count() + kLanes - 1) / kLanes);
}

uint3 BlockRunner::index_of(unsigned thread) const {
  const dim3 size = launch_.threads;
  return {thread % size.x, thread / size.x % size.y, thread / (size.x * size.y)};
}

void BlockRunner::run(uint3 block, std::uint64_t order) {
  block_ = block;
  lane_order_ = static_cast<unsigned>(order) % kLanes;
  warp_order_ = static_cast<unsigned>(order >> 32);
  if (kernel_.meets) {
    ++writer_;
    shared_.begin_block();
    run_fibers();
  } else {
    running_ = loop_.get();
    loop_->resume();
    check_fault();
  }
}

void BlockRunner::run_loop(void* runner) {
  auto& self = *static_cast<BlockRunner*>(runner);
  const dim3 size = self.launch_.threads;
  for (unsigned z = 0; z < size.z; ++z) {
    for (unsigned y = 0; y < size.y; ++y) {
      for (unsigned x = 0; x < size.x; ++x) {
        self.thread_ = {x, y, z};
        ++self.writer_;
        self.kernel_.thread(self.arguments_);
      }
    }
  }
}

void BlockRunner::run_thread(void* runner) {
  auto& self = *static_cast<BlockRunner*>(runner);
  self.kernel_.thread(self.arguments_);
  // Fibers of the same runner take turns: the thread that ends is the current one.
  self.threads_[self.current_].state = State::done;
}

void BlockRunner::run_fibers() {
  const auto warps = static_cast<unsigned>(warp_epochs_.size());
  for (Thread& thread : threads_) thread.state = State::ready;
  for (;;) {
    for (unsigned i = 0; i < warps; ++i) run_warp((i + warp_order_) % warps);
    const auto left = std::count_if(threads_.begin(), threads_.end(),
                                    [](const Thread& t) { return t.state == State::at_barrier; });
    if (left == 0) return;
    if (left != static_cast<std::ptrdiff_t>(count())) {
      fault_.emplace(cudaErrorLaunchFailure, std::string(kernel_.name) + ": " +
                                                 std::to_string(left) + " of " +
                                                 std::to_string(count()) + " threads of block " +
                                                 text(block_) + " reach a barrier, the others end");
      check_fault();
    }
    shared_.meet();
    for (Thread& thread : threads_) thread.state = State::ready;
  }
}

void BlockRunner::resume(unsigned thread) {
  current_ = thread;
  thread_ = threads_[thread].index;
  running_ = threads_[thread].fiber.get();
  running_->resume();
  check_fault();
}

/// Runs the threads of a warp until all of them are at a barrier or have ended.
void BlockRunner::run_warp(unsigned warp) {
  const unsigned begin = warp * kLanes, lanes = std::min(kLanes, count() - begin);
  do {
    for (unsigned i = 0; i < lanes; ++i) {
      const unsigned thread = begin + (i + lane_order_) % lanes;
      if (threads_[thread].state == State::ready) resume(thread);
    }
  } while (complete_exchanges(warp));
}

/// Completes the operations for which all lanes of the mask have come. Returns whether there was
/// one, and fails if lanes wait for others that do not come.
bool BlockRunner::complete_exchanges(unsigned warp) {
  const unsigned begin = warp * kLanes, lanes = std::min(kLanes, count() - begin);
  bool any = false, waiting = false;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const Thread& first = threads_[begin + lane];
    if (first.state != State::in_warp) continue;
    bool complete = true;
    for (unsigned other = 0; other < kLanes; ++other) {
      if ((first.mask >> other & 1) == 0) continue;
      const Thread* thread = other < lanes ? &threads_[begin + other] : nullptr;
      complete &= thread != nullptr && thread->state == State::in_warp &&
                  thread->mask == first.mask && thread->kind == first.kind;
    }
    if (!complete) {
      waiting = true;
      continue;
    }
    const unsigned mask = first.mask;
    for (unsigned other = 0; other < lanes; ++other) {
      if (mask >> other & 1) threads_[begin + other].result = received(warp, other);
    }
    if (first.kind == Exchange::none) ++warp_epochs_[warp];
    for (unsigned other = 0; other < lanes; ++other) {
      if (mask >> other & 1) threads_[begin + other].state = State::ready;
    }
    any = true;
  }
  if (waiting && !any) {
    fault_.emplace(cudaErrorLaunchFailure,
                   std::string(kernel_.name) + ": in block " + text(block_) +
                       ", lanes of a warp wait for others that do not come");
    check_fault();
  }
  return any;
}

/// Returns what a lane gets, as CUDA defines it for __shfl_sync and its relatives.
std::uint64_t BlockRunner::received(unsigned warp, unsigned lane) const {
  const Thread& self = threads_[warp * kLanes + lane];
  const auto width = static_cast<unsigned>(self.width);
  const unsigned start = lane / width * width;
  unsigned source = lane;
  switch (self.kind) {
    case Exchange::none:
      return self.value;
    case Exchange::ballot: {
      std::uint64_t votes = 0;
      for (unsigned i = 0; i < kLanes; ++i) {
        if ((self.mask >> i & 1) && threads_[warp * kLanes + i].value != 0) votes |= 1U << i;
      }
      return votes;
    }
    case Exchange::lane:
      source = start + self.lane % width;
      break;
    case Exchange::up:
      source = lane >= start + self.lane ? lane - self.lane : lane;
      break;
    case Exchange::down:
      source = lane + self.lane < start + width ? lane + self.lane : lane;
      break;
    case Exchange::exclusive_or:
      source = (lane ^ self.lane) < start + width ? lane ^ self.lane : lane;
      break;
  }
  // The value of a lane that takes no part is undefined: all bits are set, a NaN.
  if ((self.mask >> source & 1) == 0) return ~std::uint64_t{0};
  return threads_[warp * kLanes + source].value;
}

void BlockRunner::check_fault() {
  if (!fault_) return;
  const KernelFault fault = *std::exchange(fault_, std::nullopt);
  throw fault;
}

void BlockRunner::fail(cudaError_t status, const char* what) {
  fault_.emplace(status, std::string(kernel_.name) + ": " + what + ", thread " + text(thread_) +
                             " of block " + text(block_));
  running_->suspend();
  std::abort();  // a failed launch is not continued
}

void BlockRunner::require_meeting(const char* what) {
  if (!kernel_.meets) fail(cudaErrorLaunchFailure, what);
}

void BlockRunner::meet_block() {
  require_meeting("a barrier in a kernel that is not a meeting kernel");
  threads_[current_].state = State::at_barrier;
  running_->suspend();
}

std::uint64_t BlockRunner::exchange(Exchange kind, unsigned mask, std::uint64_t value,
                                    unsigned lane, int width) {
  require_meeting("a warp operation in a kernel that is not a meeting kernel");
  if ((mask >> current_ % kLanes & 1) == 0) {
    fail(cudaErrorLaunchFailure, "a warp operation by a lane that is not in the mask");
  }
  Thread& self = threads_[current_];
  self.state = State::in_warp;
  self.kind = kind;
  self.mask = mask;
  self.value = value;
  self.lane = lane;
  self.width = width;
  running_->suspend();
  return self.result;
}

void* BlockRunner::shared_variable(const void* site, std::size_t bytes, std::size_t alignment) {
  require_meeting("shared memory in a kernel that is not a meeting kernel");
  void* at = shared_.variable(site, bytes, alignment);
  if (at == nullptr) fail(cudaErrorLaunchFailure, "more static shared memory than was declared");
  return at;
}

void* BlockRunner::dynamic_shared() {
  require_meeting("shared memory in a kernel that is not a meeting kernel");
  return shared_.dynamic();
}

void BlockRunner::access_shared(const void* address, std::size_t bytes, bool write) {
  const char* wrong =
      shared_.access(address, bytes, write, {current_, warp_epochs_[current_ / kLanes]});
  if (wrong != nullptr) fail(cudaErrorLaunchFailure, wrong);
}

/// Static storage that is found without a call, as kernels ask for it again and again.
[[gnu::tls_model("initial-exec")]] static thread_local BlockRunner* runner = nullptr;

BlockRunner*& active_runner() { return runner; }

uint3 thread_index() { return runner->thread_index(); }
uint3 block_index() { return runner->block_index(); }
dim3 block_size() { return runner->block_size(); }
dim3 grid_size() { return runner->grid_size(); }
void meet_block() { runner->meet_block(); }
std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value, unsigned lane,
                       int width) {
  return runner->exchange(kind, mask, value, lane, width);
}
void* shared_variable(const void* site, std::size_t bytes, std::size_t alignment) {
  return runner->shared_variable(site, bytes, alignment);
}
void* dynamic_shared() { return runner->dynamic_shared(); }

}  // namespace towerflow::cuda::host
