#include "cuda/host/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <new>

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
std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
}  // namespace

Fiber::Fiber(Function function, void* argument) : function_(function), argument_(argument) {
  void* all = mmap(nullptr, kStackBytes + page(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  mprotect(all, page(), PROT_NONE);
  stack_ = static_cast<std::byte*>(all) + page();
  abandon();
}

Fiber::~Fiber() { munmap(stack_ - page(), kStackBytes + page()); }

void Fiber::resume() { inside_ = context::jump_fcontext(inside_, this).fctx; }

void Fiber::suspend() { outside_ = context::jump_fcontext(outside_, nullptr).fctx; }

void Fiber::abandon() {
  inside_ = context::make_fcontext(stack_ + kStackBytes, kStackBytes, FiberEntry::run);
}

}  // namespace towerflow::cuda::host
