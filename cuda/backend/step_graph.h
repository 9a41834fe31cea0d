#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "cuda/backend/device.h"
#include "cuda/backend/launch_record.h"
#include "cuda/backend/stream_work.h"

namespace towerflow::cuda {

/// Work that a queue has met, as a graph of CUDA once it has been captured.
class StepGraph {
 public:
  StepGraph(const Device& device, const StreamWork& work) : device_(device), work_(work) {}
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// The work as it was captured, or as it was met first.
  const StreamWork& work() const { return work_; }
  /// Returns whether the graph does what `work` says. Its first launch with a record then must get
  /// the record that `first_record` tells.
  bool does(const StreamWork& work, std::size_t first_record) const;
  /// Captures `work` anew: calls `put`, which puts it into the stream and returns the launches with
  /// a record. Returns false, and will not be asked again, if something in it cannot be captured.
  bool capture(const StreamWork& work, cudaStream_t stream, std::size_t first_record,
               const std::function<void(StepGraph&)>& put) noexcept;
  bool refused() const { return refused_; }
  void launch(cudaStream_t stream) const;

  std::vector<CheckedLaunch> checked;       ///< launches with a record
  std::vector<std::size_t> checked_before;  ///< by record or wait: how many come before it

 private:
  void take(cudaGraph_t graph);
  void destroy() noexcept;

  const Device& device_;
  StreamWork work_;
  cudaGraphExec_t graph_ = nullptr;
  std::size_t first_record_ = 0;
  std::uint64_t host_memory_ = 0;  // version of the host memory that copies were captured with
  bool refused_ = false;
};

/// The work of a queue that may be repeated, by the instruction with which it begins.
class StepGraphs {
 public:
  explicit StepGraphs(const Device& device) : device_(device) {}
  /// Returns what is known of work with the same calls. Null, and notes it, if it is met for the
  /// first time; null if it is so little that a graph would not pay.
  StepGraph* find(const StreamWork& work);

 private:
  struct Variants {
    std::vector<std::unique_ptr<StepGraph>> graphs;
    std::size_t oldest = 0;
  };
  const Device& device_;
  std::unordered_map<std::size_t, Variants> known_;
};

}  // namespace towerflow::cuda
