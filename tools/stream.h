#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace towerflow::tools {

/// The memory of a program that does nothing else: one pass that reads arrays, and writes some of
/// them back, on threads of its own. What an update of as many arrays is measured against.
class Stream {
 public:
  /// `written` arrays that are read and written, `read` that are only read, 1 to 4 of each, of
  /// `elements` float32 each.
  Stream(std::int64_t elements, int written, int read, int threads);
  ~Stream();

  /// Seconds of one pass: the sum of all arrays' elements goes into those written.
  double pass();
  /// What a pass moves.
  std::int64_t bytes() const;

 private:
  struct Freed {
    void operator()(float* memory) const;
  };
  std::int64_t elements_;
  int written_, threads_;
  std::vector<std::unique_ptr<float[], Freed>> arrays_;
};

}  // namespace towerflow::tools
