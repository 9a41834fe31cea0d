#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace towerflow::tools {

/// A benchmark of memory bandwidth: passes that read arrays and write some of them back, on their
/// own threads. Updates of as many arrays are compared with it.
class Stream {
 public:
  /// Allocates `written` arrays that are read and written and `read` arrays that are only read, 1
  /// to 4 of each, with `elements` float32 each.
  Stream(std::int64_t elements, int written, int read, int threads);
  ~Stream();

  /// Runs one pass, which adds the sum of the read-only arrays to each written one; returns its
  /// seconds.
  double pass();
  /// Bytes read and written by a pass.
  std::int64_t bytes() const;

 private:
  struct FreeMemory {
    void operator()(float* memory) const;
  };
  std::int64_t elements_;
  int written_, threads_;
  std::vector<std::unique_ptr<float[], FreeMemory>> arrays_;
};

/// Measures the memory bandwidth, in bytes per second: one array is read and written, one only
/// read.
double stream_rate(int threads);

}  // namespace towerflow::tools
