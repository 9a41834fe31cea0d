#pragma once

#include <array>
#include <memory>
#include <optional>

#include "cuda/backend/dnn_convolution.h"

namespace towerflow::cuda {

/// Times plans of one convolution, on memory and in a stream of its own.
class PlanTimer {
 public:
  /// Throws ResourceExhaustedError if the tensors do not fit.
  PlanTimer(Device& device, const DnnConvolutionSpec& spec);
  ~PlanTimer();
  PlanTimer(const PlanTimer&) = delete;
  PlanTimer& operator=(const PlanTimer&) = delete;

  /// Returns the milliseconds of one execution: the least of three averages, or the time of a
  /// single execution if that is more than twice `best`. Returns nothing if cuDNN refuses to
  /// execute the plan, or if its workspace does not fit.
  std::optional<double> time(const DnnPlan& plan, double best);

 private:
  bool make_room(std::size_t bytes);
  double milliseconds(const DnnPlan& plan, int times);

  Device& device_;
  Stream stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::array<std::shared_ptr<void>, 4> tensors_;
  std::array<const void*, 4> memory_{};
  std::shared_ptr<void> scratch_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace towerflow::cuda
