#include "cuda/backend/stream_times.h"

#include "core/device/wall_clock.h"
#include "cuda/backend/check.h"

namespace towerflow::cuda {

StreamTimes::~StreamTimes() {
  for (const cudaEvent_t event : events_) device_.table().cudaEventDestroy(event);
}

std::size_t StreamTimes::record(cudaStream_t stream) {
  const Table& table = device_.table();
  device_.select();
  if (used_ == events_.size()) {
    cudaEvent_t made = nullptr;
    TOWERFLOW_CUDA(table, cudaEventCreateWithFlags(&made, cudaEventDefault));
    events_.push_back(made);
  }
  TOWERFLOW_CUDA(table, cudaEventRecord(events_[used_], stream));
  return used_++;
}

void StreamTimes::start(bool timed, cudaStream_t stream) {
  timed_ = timed;
  used_ = 0;
  entries_.clear();
  open_ = {};
  if (!timed) return;
  record(stream);
  TOWERFLOW_CUDA(device_.table(), cudaEventSynchronize(events_[0]));
  start_ = wall_clock_seconds();
}

void StreamTimes::begin(Span* span, cudaStream_t stream) {
  if (timed_ && span != nullptr) open_ = {.span = span, .begin = record(stream)};
}

void StreamTimes::end(cudaStream_t stream) {
  if (open_.span == nullptr) return;
  open_.end = record(stream);
  entries_.push_back(open_);
  open_ = {};
}

double StreamTimes::seconds(std::size_t event) const {
  float milliseconds = 0;
  TOWERFLOW_CUDA(device_.table(), cudaEventElapsedTime(&milliseconds, events_[0], events_[event]));
  return start_ + 1e-3 * static_cast<double>(milliseconds);
}

void StreamTimes::fill_spans() {
  for (const Entry& entry : entries_) {
    entry.span->begin = seconds(entry.begin);
    entry.span->end = seconds(entry.end);
  }
  entries_.clear();
}

}  // namespace towerflow::cuda
