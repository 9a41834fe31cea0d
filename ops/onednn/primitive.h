#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ops/onednn/onednn.h"

namespace towerflow::onednn {

/// Returns the CPU engine of the process.
const dnnl::engine& cpu_engine();

/// While it exists, oneDNN prepares and runs everything on the calling thread only. It changes an
/// OpenMP setting of the thread and restores it at the end. Does nothing if oneDNN was built
/// without OpenMP.
class SingleThreadScope {
 public:
  SingleThreadScope();
  SingleThreadScope(const SingleThreadScope&) = delete;
  SingleThreadScope& operator=(const SingleThreadScope&) = delete;
  ~SingleThreadScope();

 private:
  int before_;
};

/// Rounds a number of bytes up to whole cache lines.
constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Returns the attributes of every primitive here: the caller provides scratch memory.
dnnl::primitive_attr caller_scratchpad();

/// Throws ResourceExhaustedError, naming `what`, if the system has little memory left, because
/// oneDNN dereferences null pointers if an allocation fails while it prepares. The first call also
/// makes oneDNN generate the code that it would otherwise generate in its first product, too late
/// for an error.
void make_ready(const char* what);

/// Turns the current error of oneDNN into InternalError or ResourceExhaustedError that names
/// `what`.
[[noreturn]] void rethrow_dnnl(const char* what);
/// Calls `make` on one thread, turning errors of oneDNN as `rethrow_dnnl` does.
template <class Make>
auto prepare(const char* what, Make make) {
  const SingleThreadScope one;
  make_ready(what);
  try {
    return make();
  } catch (const dnnl::error&) {
    rethrow_dnnl(what);
  }
}

/// A oneDNN primitive prepared for one thread, run on raw pointers.
///
/// oneDNN's memory objects hold the pointers of one execution, so a few sets of them are made in
/// advance, each lent to one execution at a time. If more executions than foreseen run at once,
/// another set is made and kept.
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

  /// Returns whether a run allocates memory besides `scratch`. oneDNN's matrix products do, and so
  /// do the convolutions that it implements by them.
  bool allocates_memory() const;

  /// Runs on the calling thread. `pointers` are in the order of the operands. Throws
  /// ResourceExhaustedError if there is no memory for the run, see `allocates_memory`.
  void run(std::span<void* const> pointers, std::byte* scratch) const;
  /// Like `run`, but returns false if there is no memory; the outputs are then undefined.
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
    std::vector<Operand> operands;  // the scratchpad, if there is one, is the last
    std::size_t scratch_bytes = 0;
    bool allocates_memory = false;
    std::atomic<MemorySet*> sets{nullptr};  // a list that only grows
  };
  /// Adds a new set, already lent, at the head of the list.
  MemorySet& add_set() const;
  bool execute(MemorySet& set, std::span<void* const> pointers, std::byte* scratch) const;

  std::unique_ptr<State> state_;
};

/// Returns a copy between layouts, or an empty primitive (false) if both are the same.
Primitive make_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                       int concurrent);

}  // namespace towerflow::onednn
