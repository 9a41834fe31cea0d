#pragma once

#include <cstddef>

namespace towerflow {

/// When one instruction of a run was at work. The virtual clock stands still but for what simulated
/// devices and their host do; see Pace.
struct Span {
  double begin = 0, end = 0;                  ///< seconds of the steady clock
  double virtual_begin = 0, virtual_end = 0;  ///< seconds since the run began, virtual clock
};

/// How fast a device counts on the virtual clock: kernels at their measured cost on one core of
/// this machine times `slowdown`, copies at the rate given.
struct Pace {
  bool simulated = false;
  double slowdown = 1;
  double latency = 0;              ///< seconds, of each copy
  double bytes_per_second = 20e9;  ///< of each copy engine

  double copy_seconds(std::size_t bytes) const {
    return latency + static_cast<double>(bytes) / bytes_per_second;
  }
};

/// The two clocks of a queue. What the queue does between `begin` and `end` belongs to one
/// instruction: it counts as computing unless it was a copy or a wait.
class QueueClock {
 public:
  explicit QueueClock(const Pace& pace) : pace_(pace) {}

  /// A run begins.
  void start() { now_ = 0; }
  /// On the thread that does the work; `span` may be null.
  void begin(Span* span);
  void copied(std::size_t bytes) {
    now_ += pace_.copy_seconds(bytes);
    computes_ = false;
  }
  /// For an event that was recorded at `time` of the virtual clock.
  void waited(double time) {
    if (time > now_) now_ = time;
    computes_ = false;
  }
  void end();
  /// Of the virtual clock.
  double now() const { return now_; }

 private:
  Pace pace_;
  double now_ = 0;
  Span* span_ = nullptr;
  double computed_ = 0;  // by this thread, when the instruction began
  bool computes_ = true;
};

}  // namespace towerflow
