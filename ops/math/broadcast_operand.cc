#include "ops/math/broadcast_operand.h"

namespace towerflow {

BroadcastOperand::BroadcastOperand(const Shape& operand, const Shape& out) {
  std::vector<std::int64_t> strides(out.rank(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < operand.rank(); ++i) {
    const std::size_t from = operand.rank() - 1 - i;
    if (operand.size(from) != 1) strides[out.rank() - 1 - i] = stride;
    stride *= operand.size(from);
  }
  for (std::size_t i = 0; i < out.rank(); ++i) add(out.size(i), strides[i]);
  if (sizes_.empty()) {
    sizes_.push_back(1);
    strides_.push_back(0);
  }
  for (std::size_t i = strides_.front() == 0 ? 1 : 0; i < sizes_.size(); ++i) period_ *= sizes_[i];
}

void BroadcastOperand::add(std::int64_t size, std::int64_t stride) {
  if (size == 1) return;
  if (!sizes_.empty() && strides_.back() == size * stride) {
    sizes_.back() *= size;
    strides_.back() = stride;
    return;
  }
  sizes_.push_back(size);
  strides_.push_back(stride);
}

}  // namespace towerflow
