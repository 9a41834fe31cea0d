#include "cuda/host/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <mutex>
#include <new>
#include <vector>

namespace towerflow::cuda::host {

namespace context = boost::context::detail;

/// Where a fiber starts. Boost's own class `fiber` would unwind a fiber that is abandoned, by an
/// exception, which cannot pass an access hook: compilers take for granted that those do not throw.
struct FiberEntry {
  static void run(context::transfer_t from) {
    auto* fiber = static_cast<Fiber*>(from.data);
    fiber->outside_ = from.fctx;
    for (;;) {
      fiber->function_(fiber->argument_);
      fiber->suspend();
    }
  }
};

namespace {

/// Stacks, each above a page that cannot be accessed. Those that are given back are kept for other
/// fibers: streams end with each session, and to unmap memory interrupts all threads.
class Stacks {
 public:
  explicit Stacks(std::size_t bytes) : bytes_(bytes) {}

  std::byte* take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::byte* const stack = free_.back();
        free_.pop_back();
        return stack;
      }
    }
    void* const all = mmap(nullptr, bytes_ + page_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    mprotect(all, page_, PROT_NONE);
    return static_cast<std::byte*>(all) + page_;
  }

  void give_back(std::byte* stack) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      if (free_.size() < kKept) return free_.push_back(stack);
    } catch (const std::bad_alloc&) {
    }
    munmap(stack - page_, bytes_ + page_);
  }

 private:
  static constexpr std::size_t kKept = 4096;
  const std::size_t bytes_;
  const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

/// Never destroyed: streams may end after static objects.
Stacks& stacks(std::size_t bytes) {
  static Stacks* const all = new Stacks(bytes);
  return *all;
}

}  // namespace

Fiber::Fiber(Function function, void* argument)
    : function_(function), argument_(argument), stack_(stacks(kStackBytes).take()) {
  abandon();
}

Fiber::~Fiber() { stacks(kStackBytes).give_back(stack_); }

void Fiber::resume() { inside_ = context::jump_fcontext(inside_, this).fctx; }

void Fiber::suspend() { outside_ = context::jump_fcontext(outside_, nullptr).fctx; }

void Fiber::abandon() {
  inside_ = context::make_fcontext(stack_ + kStackBytes, kStackBytes, FiberEntry::run);
}

}  // namespace towerflow::cuda::host
