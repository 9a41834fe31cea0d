#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/kernel.h"
#include "core/graph/op_def.h"
#include "cuda/backend/kernel_table.h"
#include "cuda/backend/launch.h"
#include "cuda/device/arguments.h"

namespace towerflow::cuda {

/// Returns a predicate for CudaEntry::accepts: whether operand `input` has one of these dtypes.
std::function<bool(const KernelRequest&)> takes(std::initializer_list<DType> dtypes,
                                                std::size_t input = 0);

/// Returns the name of a kernel: "AddV2_float32".
std::string kernel_name(std::string_view op, DType dtype);
/// Returns the name of a kernel that copies elements of a dtype: "Fill_4".
std::string copy_kernel_name(std::string_view op, DType dtype);

/// Returns `bytes` rounded up, so that what follows it in a workspace is aligned for kernels.
constexpr std::size_t rounded_to_pack(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// A tensor as operands are read at its positions: sizes, outermost first, and the strides of each
/// operand in elements. Neighbouring dimensions are joined where all strides allow.
template <int kOperands>
struct View {
  std::vector<std::int64_t> sizes{};
  std::array<std::vector<std::int64_t>, kOperands> strides{};

  /// Appends a dimension, the outermost first.
  void add(std::int64_t size, const std::array<std::int64_t, kOperands>& steps);
  /// Returns it as kernels take it. Throws UnimplementedError if it has more dimensions than they
  /// take, or 2^31 elements or more.
  device::Strided<kOperands> strided(const char* op) const;
};

/// Returns the strides with which an operand is read at the positions of a shape that it broadcasts
/// to: 0 where it has one element.
std::vector<std::int64_t> broadcast_strides(const Shape& operand, const Shape& result);
/// Returns the row-major strides of a shape.
std::vector<std::int64_t> row_major_strides(const Shape& shape);

/// Throws UnimplementedError: kernels for `op` take at most device::kMaxRank dimensions.
[[noreturn]] void refuse_rank(const char* op);

template <int kOperands>
void View<kOperands>::add(std::int64_t size, const std::array<std::int64_t, kOperands>& steps) {
  if (size == 1) return;
  bool joins = !sizes.empty();
  for (std::size_t k = 0; joins && k < kOperands; ++k) {
    joins = strides[k].back() == steps[k] * size;
  }
  if (joins) {
    sizes.back() *= size;
    for (std::size_t k = 0; k < kOperands; ++k) strides[k].back() = steps[k];
    return;
  }
  sizes.push_back(size);
  for (std::size_t k = 0; k < kOperands; ++k) strides[k].push_back(steps[k]);
}

template <int kOperands>
device::Strided<kOperands> View<kOperands>::strided(const char* op) const {
  if (sizes.size() > device::kMaxRank) refuse_rank(op);
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) elements *= size;
  check_32_bits(elements, op);
  device::Strided<kOperands> made;
  made.rank = static_cast<int>(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    made.sizes[d] = device::Divisor::of(static_cast<std::uint32_t>(sizes[d]));
    for (std::size_t k = 0; k < kOperands; ++k) made.strides[k][d] = strides[k][d];
  }
  return made;
}

}  // namespace towerflow::cuda
