#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/host/clock.h"
#include "cuda/host/work.h"

namespace towerflow::cuda::host {

/// Who accessed memory: one piece of work of a stream, or the host.
struct Accessor {
  std::string what;   ///< "copy", "kernel scale"
  std::string where;  ///< "stream 2"
  std::size_t component = 0;
  std::uint64_t count = 0;  ///< its number among the work of the component
};

/// Two accesses to the same bytes, at least one of which writes, without anything that orders them.
struct OrderError {
  std::shared_ptr<const Accessor> first, second;
  bool first_writes = false, second_writes = false;
  const void* at = nullptr;
  std::size_t bytes = 0;

  std::string text() const;
};

/// Finds unordered accesses. It compares clocks, not times, so that it finds a missing wait on
/// every run, also where the work happened to run in the right order.
class Order {
 public:
  /// Notes what work accessed that comes after all that `clock` covers. Work is added in an order
  /// that respects the clocks, such as that in which it ends.
  std::optional<OrderError> add(const std::shared_ptr<const Accessor>& who, const Clock& clock,
                                const std::vector<Operand>& operands);
  /// Forgets a range that the host frees at the time of `clock`, and returns an error if work that
  /// accesses it may still run then.
  std::optional<OrderError> release(const void* at, std::size_t bytes, const Clock& clock,
                                    const char* call);

 private:
  struct Segment {
    std::uintptr_t end = 0;
    std::shared_ptr<const Accessor> write;                 // the last one
    std::vector<std::shared_ptr<const Accessor>> reads{};  // since then, none before another
  };
  using Segments = std::map<std::uintptr_t, Segment>;

  /// Splits the segment that contains an address, if any, so that none lies across it.
  void split(std::uintptr_t at);
  /// Makes segments cover a range with none across its bounds, and returns the first.
  Segments::iterator cover(std::uintptr_t begin, std::uintptr_t end);

  Segments segments_;  // by their begin
};

}  // namespace towerflow::cuda::host
