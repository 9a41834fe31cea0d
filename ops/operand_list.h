#pragma once

#include <initializer_list>
#include <vector>

#include "core/graph/collections.h"
#include "core/graph/operand.h"

namespace towerflow::types {

/// A list of tensors, or of values that become tensors: what concat, stack and add_n take.
class OperandList {
 public:
  OperandList(std::initializer_list<Operand> items) : items_(items) {}   // NOLINT: {x, y}
  OperandList(std::vector<Operand> items) : items_(std::move(items)) {}  // NOLINT
  /// A single tensor is a list of one, as TensorFlow's concat takes it.
  template <TensorLike T>
  OperandList(const T& tensor, Site site = Site::current())  // NOLINT
      : items_{Operand(tensor, site)} {}
  template <TensorLike T>
  OperandList(const std::vector<T>& tensors, Site site = Site::current()) {  // NOLINT
    for (const T& tensor : tensors) items_.emplace_back(tensor, site);
  }
  template <TensorLike T>
  OperandList(const Collected<T>& tensors, Site site = Site::current())  // NOLINT
      : OperandList(static_cast<const std::vector<T>&>(tensors), site) {
    if (tensors.empty()) why_empty_ = tensors.explain();
  }

  const std::vector<Operand>& items() const { return items_; }
  std::size_t size() const { return items_.size(); }
  /// Of a list that a collection's filter left empty: why. For the hint of an error.
  const std::string& why_empty() const { return why_empty_; }
  /// The first tensor in the list, which tells graph and dtype; nullptr when there is none.
  const Tensor* any_tensor() const {
    for (const Operand& item : items_) {
      if (const Tensor* tensor = item.any_tensor()) return tensor;
    }
    return nullptr;
  }

 private:
  std::vector<Operand> items_;
  std::string why_empty_;
};

}  // namespace towerflow::types
