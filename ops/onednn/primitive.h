#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ops/onednn/onednn.h"

namespace towerflow::onednn {

/// The CPU engine of the process.
const dnnl::engine& cpu_engine();

/// While it lives, oneDNN prepares and runs everything on the calling thread alone. The setting of
/// OpenMP that it changes belongs to the thread and is restored at the end; in a build of oneDNN
/// without OpenMP it does nothing.
class OneThread {
 public:
  OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread();

 private:
  int before_;
};

/// Bytes up to the next whole cache line.
constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Attributes every primitive here has: scratch memory comes from the caller.
dnnl::primitive_attr caller_scratchpad();

/// Throws ResourceExhaustedError, naming `what`, where the system has little memory left: oneDNN
/// reads through null pointers when it gets none while it prepares. The first call has oneDNN make
/// the code that it would make when its first product runs, too late for an error.
void make_ready(const char* what);

/// Calls `make` for one thread and turns an error of oneDNN into InternalError or
/// ResourceExhaustedError that names `what`.
[[noreturn]] void rethrow_dnnl(const char* what);
template <class Make>
auto prepare(const char* what, Make make) {
  const OneThread one;
  make_ready(what);
  try {
    return make();
  } catch (const dnnl::error&) {
    rethrow_dnnl(what);
  }
}

/// A oneDNN primitive prepared for one thread, run on raw pointers.
///
/// oneDNN's memory objects carry the pointers of one execution, so a few sets of them are made
/// ahead and lent to one execution each; when more run at once than foreseen another is made, and
/// kept.
class Primitive {
 public:
  static constexpr std::size_t kMaxOperands = 4;

  /// An operand: oneDNN's argument number and the layout in memory.
  struct Operand {
    int argument = 0;
    dnnl::memory::desc desc;
  };

  Primitive() = default;
  Primitive(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
            std::vector<Operand> operands, int concurrent);

  explicit operator bool() const { return state_ != nullptr; }
  std::size_t scratch_bytes() const;

  /// Whether a run asks the system for memory besides `scratch`: oneDNN's products of matrices do,
  /// and the convolutions that it makes of them.
  bool takes_memory() const;

  /// Runs on the calling thread; `pointers` in the order of the operands. Throws
  /// ResourceExhaustedError where `takes_memory` and there is none.
  void run(std::span<void* const> pointers, std::byte* scratch) const;
  /// The same, but returns false where there is no memory. What was written is of no use then.
  [[nodiscard]] bool try_run(std::span<void* const> pointers, std::byte* scratch) const;

 private:
  struct MemorySet {
    std::vector<dnnl::memory> memories;
    dnnl::stream stream;
    std::atomic<bool> lent{false};
    MemorySet* next = nullptr;
  };
  struct State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    dnnl::primitive primitive;
    std::vector<Operand> operands;  // the scratchpad, where there is one, is the last
    std::size_t scratch_bytes = 0;
    bool takes_memory = false;
    std::atomic<MemorySet*> sets{nullptr};  // a list that only grows
  };
  /// Puts a new set, lent already, before the others.
  MemorySet& add_set() const;
  bool execute(MemorySet& set, std::span<void* const> pointers, std::byte* scratch) const;

  std::unique_ptr<State> state_;
};

/// A copy between layouts; empty (false) when both are the same.
Primitive make_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                       int concurrent);

}  // namespace towerflow::onednn
