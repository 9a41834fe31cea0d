#pragma once

#include <cstddef>

namespace towerflow {

/// The time during which one instruction of a run was executed. The virtual clock advances only for
/// work of simulated devices and their host; see Pace.
struct Span {
  double begin = 0, end = 0;                  ///< seconds of the steady clock
  double virtual_begin = 0, virtual_end = 0;  ///< seconds since the run began, virtual clock
};

/// The speed of a device on the virtual clock. A kernel takes its measured time on one core of this
/// machine times `slowdown`; a copy takes `copy_seconds`.
struct Pace {
  bool simulated = false;
  double slowdown = 1;
  double latency = 0;              ///< seconds per copy
  double bytes_per_second = 20e9;  ///< of each copy engine

  double copy_seconds(std::size_t bytes) const {
    return latency + static_cast<double>(bytes) / bytes_per_second;
  }
};

/// The wall clock and the virtual clock of a queue. The time between `begin` and `end` belongs to
/// one instruction and counts as computation unless it was a copy, a wait or a record.
class QueueClock {
 public:
  explicit QueueClock(const Pace& pace) : pace_(pace) {}

  /// Resets the virtual clock at the start of a run.
  void start() { now_ = 0; }
  /// Begins an instruction, on the thread that executes it; `span` may be null.
  void begin(Span* span);
  void copied(std::size_t bytes) {
    now_ += pace_.copy_seconds(bytes);
    is_computation_ = false;
  }
  /// Advances to the virtual time at which an awaited event was recorded.
  void waited(double time) {
    if (time > now_) now_ = time;
    is_computation_ = false;
  }
  /// Notes that the instruction takes no time on the device, as recording an event does.
  void recorded() { is_computation_ = false; }
  void end();
  /// Returns the time of the virtual clock.
  double now() const { return now_; }

 private:
  Pace pace_;
  double now_ = 0;
  Span* span_ = nullptr;
  double cpu_time_at_begin_ = 0;  // CPU time of this thread when the instruction began
  bool is_computation_ = true;
};

}  // namespace towerflow
