#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {

/// A reduction: op "Sum", "Prod", "Max", "Min", "All" or "Any"; floating results are divided.
struct ReductionSpec {
  std::string op = "Sum";
  DType dtype = DType::float32;
  Shape shape;                ///< of the input
  std::vector<bool> reduced;  ///< for each axis
  double divisor = 1;
};

/// A reduction in a fixed order, in one launch or two. Results in float16 and bfloat16 are rounded
/// from float32 by another one.
class CudaReduction {
 public:
  CudaReduction(Device& device, const ReductionSpec& spec);
  std::size_t workspace_bytes() const { return workspace_; }
  void run(CudaQueue& queue, const void* x, void* y, std::byte* workspace) const;

 private:
  /// One launch: the kernel's form and its sizes.
  struct Pass {
    enum class Form { rows, columns, general } form = Form::rows;
    cudaKernel_t kernel = nullptr;
    dim3 blocks{1};
    std::int64_t outer = 1, rows = 0, columns = 0;
    int group = 0;  ///< threads of a row; for columns, whether packed
    device::Strided<1> kept, reduced;
    double divisor = 1;
  };
  static void launch_pass(CudaQueue& queue, const Pass& pass, const void* x, void* y);
  void plan_rows(Device& device, const ReductionSpec& spec, std::int64_t rows,
                 std::int64_t columns);
  void plan_columns(Device& device, const ReductionSpec& spec, std::int64_t outer,
                    std::int64_t rows, std::int64_t columns);
  void plan_general(Device& device, const ReductionSpec& spec);

  std::vector<Pass> passes_;
  std::size_t workspace_ = 0;
  cudaKernel_t rounding_ = nullptr;  ///< for short results
  std::size_t wide_at_ = 0;          ///< where their float32 form is in the workspace
  std::int64_t results_ = 0;
  bool is_empty_ = false;  ///< whether there is no result
};

/// Returns a kernel that reduces input `input`.
std::unique_ptr<PreparedKernel> prepare_reduction(Device& device, const ReductionSpec& spec,
                                                  std::size_t input = 0);

}  // namespace towerflow::cuda
