#pragma once

#include <initializer_list>
#include <vector>

#include "core/graph/collections.h"
#include "core/graph/operand.h"

namespace towerflow::types {

/// A list of tensors, or of values that become tensors: the argument of concat, stack and add_n.
class OperandList {
 public:
  OperandList(std::initializer_list<Operand> items) : items_(items) {}   // NOLINT: {x, y}
  OperandList(std::vector<Operand> items) : items_(std::move(items)) {}  // NOLINT
  /// Makes a list of one tensor, as TensorFlow's concat accepts.
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
  /// Returns why a collection's filter left the list empty, for the hint of an error; else empty.
  const std::string& why_empty() const { return why_empty_; }
  /// Returns the first tensor in the list, which determines graph and dtype; nullptr if there is
  /// none.
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
