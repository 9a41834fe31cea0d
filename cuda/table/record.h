#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/table/table.h"

namespace towerflow::cuda {

/// A table that forwards to another and notes each call. What is noted is the same in every run of
/// a program that makes the same calls: streams, events and allocations have numbers in the order
/// of their creation, and times and amounts of free memory are left out.
///
/// Calls of several threads are noted in the order in which they happen, for which each thread
/// waits for the call of another. Calls that wait for work are the exception: they are noted when
/// they begin. One recorder exists at a time.
class Recorder {
 public:
  /// `base` stays alive as long as the recorder.
  ///
  /// errors   std::logic_error: there is a recorder already
  explicit Recorder(const Table& base);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// An entry is null if that of the base is, or was when `update` was called last.
  const Table& table() const;
  /// Fills entries that the base has got meanwhile.
  void update();

  /// Returns a line for each call:
  ///
  ///   cudaMemcpyAsync(memory 1 + 64, pinned 1, 4096, 1, stream 2) = 0
  std::vector<std::string> calls() const;
  /// Forgets the calls, but not the numbers.
  void clear();

  class Log;

 private:
  std::unique_ptr<Log> log_;
};

}  // namespace towerflow::cuda
