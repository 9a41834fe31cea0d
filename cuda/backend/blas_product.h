#pragma once

#include <cstdint>
#include <memory>

#include "core/graph/dtype.h"
#include "cuda/backend/cuda_queue.h"
#include "cuda/backend/device.h"

namespace towerflow::cuda {

/// A product of row-major matrices, c = epilogue(a b): a [rows, inner] or transposed, b [inner,
/// columns] or transposed, c [rows, columns]; for each of the batches, which lie one after another.
struct ProductShape {
  std::int64_t rows = 0, inner = 0, columns = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t batches = 1;
  DType dtype = DType::float32;
  /// What is added: nothing, a vector of the columns, or a matrix as c.
  enum class Addend { none, bias, matrix } addend = Addend::none;
  bool relu = false;
};

/// A product prepared for cuBLASLt, in full float32 unless the dtype says otherwise. All addresses
/// are aligned to 64 bytes. Thread-safe.
class BlasProduct {
 public:
  /// Returns whether cuBLASLt has the product: nothing is fused if both operands are transposed.
  static bool can_fuse(bool transpose_a, bool transpose_b) { return !(transpose_a && transpose_b); }

  /// Asks the heuristics. Throws UnimplementedError if cuBLASLt has no algorithm.
  BlasProduct(Device& device, const ProductShape& shape);
  ~BlasProduct();
  BlasProduct(const BlasProduct&) = delete;
  BlasProduct& operator=(const BlasProduct&) = delete;

  std::size_t workspace_bytes() const;
  /// Puts the product into the queue's stream. `addend` is a vector, a matrix, or null.
  void run(CudaQueue& queue, const void* a, const void* b, const void* addend, void* c,
           std::byte* workspace) const;

 private:
  struct Descriptors;
  std::unique_ptr<Descriptors> made_;
};

}  // namespace towerflow::cuda
