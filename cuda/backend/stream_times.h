#pragma once

#include <cstddef>
#include <vector>

#include "core/device/queue_clock.h"
#include "cuda/backend/device.h"

namespace towerflow::cuda {

/// When the work of instructions ran, as events in their stream saw it. Does nothing unless `start`
/// was told to.
class StreamTimes {
 public:
  explicit StreamTimes(const Device& device) : device_(device) {}
  ~StreamTimes();
  StreamTimes(const StreamTimes&) = delete;
  StreamTimes& operator=(const StreamTimes&) = delete;

  /// Starts a run; waits for the stream if it is timed, to know its time on the wall clock.
  void start(bool timed, cudaStream_t stream);
  bool timed() const { return timed_; }
  void begin(Span* span, cudaStream_t stream);
  void end(cudaStream_t stream);
  /// Fills the spans whose work has ended, which is that of all instructions so far.
  void fill_spans();

 private:
  struct Entry {
    Span* span = nullptr;
    std::size_t begin = 0, end = 0;  // numbers of events
  };
  std::size_t record(cudaStream_t stream);
  double seconds(std::size_t event) const;

  const Device& device_;
  bool timed_ = false;
  double start_ = 0;  // on the wall clock, when event 0 was recorded
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
  Entry open_;
  std::vector<Entry> entries_;
};

}  // namespace towerflow::cuda
