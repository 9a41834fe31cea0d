#pragma once

#include <cstdint>
#include <memory>

#include "cuda/ops/operands.h"

namespace towerflow::cuda {

/// The positions in a tensor that the elements of a dense one stand for, in order.
struct Positions {
  View<1> view{};  ///< sizes of the dense tensor, and strides in the other one, in elements
  std::int64_t offset = 0;  ///< of the first element in the other one

  /// Appends a dimension, the outermost first.
  void add(std::int64_t size, std::int64_t stride) { view.add(size, {stride}); }
};

/// A copy between a dense tensor and positions in another one. Uses elements as wide as sizes and
/// strides allow.
class PositionCopy {
 public:
  enum class Direction { load, store };  ///< load: the dense tensor is the result

  /// `op` is named if there are too many dimensions or elements.
  PositionCopy(Device& device, const char* op, DType dtype, Positions positions,
               Direction direction = Direction::load);
  void run(CudaQueue& queue, const void* from, void* to) const;

 private:
  void use_wide_elements(View<1>& view, std::size_t bytes);
  bool plan_transpose(Device& device, const View<1>& view);

  enum class Form { nothing, bytes, strided, transpose } form_ = Form::strided;
  Direction direction_;
  std::int64_t elements_ = 1;
  std::size_t element_bytes_;
  std::int64_t offset_;
  cudaKernel_t kernel_ = nullptr;
  device::Strided<1> shape_;
  dim3 tiles_;
  std::int64_t rows_ = 0, columns_ = 0;
};

/// Returns a kernel that copies from positions in input `input`.
std::unique_ptr<PreparedKernel> prepare_load(Device& device, const KernelRequest& request,
                                             Positions positions, std::size_t input = 0);
/// Returns a kernel that copies input `input` to positions in the output, which is 0 elsewhere.
std::unique_ptr<PreparedKernel> prepare_store(Device& device, const KernelRequest& request,
                                              Positions positions, std::size_t input);

}  // namespace towerflow::cuda
