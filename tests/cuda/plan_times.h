#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "tests/cuda/changed_calls.h"

namespace towerflow::testing {

/// A layer in which a plan of cuDNN takes as long as a test says, whatever its execution took.
/// Plans are told apart by the bytes of their workspaces.
class PlanTimes final : public ChangedCalls {
 public:
  using Milliseconds = std::map<std::size_t, float>;
  explicit PlanTimes(Milliseconds times, float alone = 1) {
    times_ = std::move(times);
    alone_ = alone;
    executions_ = 0;
  }
  void change(cuda::Table& table) override {
    table.cudaEventElapsedTime = [](float* taken, cudaEvent_t begin, cudaEvent_t end) {
      const cudaError_t status = base_->cudaEventElapsedTime(taken, begin, end);
      const auto found = times_.find(workspace_);
      if (found != times_.end())
        *taken = found->second * (static_cast<float>(between_) + alone_ - 1);
      return status;
    };
    table.cudaEventRecord = [](cudaEvent_t event, cudaStream_t stream) {
      between_ = std::exchange(since_record_, 0);
      return base_->cudaEventRecord(event, stream);
    };
    if (table.cudnnBackendExecute == nullptr) return;
    table.cudnnBackendExecute = [](cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                   cudnnBackendDescriptor_t pack) {
      std::int64_t bytes = 0, count = 0;
      base_->cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                      CUDNN_TYPE_INT64, 1, &count, &bytes);
      workspace_ = static_cast<std::size_t>(bytes);
      ++executions_;
      ++since_record_;
      return base_->cudnnBackendExecute(handle, plan, pack);
    };
  }
  static int executions() { return executions_; }

 private:
  inline static Milliseconds times_;
  inline static float alone_ = 1;
  inline static std::size_t workspace_ = 0;
  inline static int executions_ = 0, since_record_ = 0;
  inline static int between_ = 0;  // executions between the last two records of events
};

}  // namespace towerflow::testing
