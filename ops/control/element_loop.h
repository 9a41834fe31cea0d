#pragma once

#include <vector>

#include "ops/control/tensor_array.h"

namespace towerflow {

/// Returns the graph of the first tensor among the elements, else the default graph.
Graph& graph_of_elements(const std::vector<Operand>& elems);

/// The number of slices that `map_fn`, `scan` and the folds go through.
struct SliceCount {
  std::optional<std::int32_t> known{};
  Tensor tensor{};  ///< if it is not known

  ScalarOperand operand(Site site) const {
    return known ? ScalarOperand(*known, site) : ScalarOperand(tensor, site);
  }
  /// Returns the count less `less`; a node if it is not known.
  ScalarOperand minus(std::int32_t less, Site site) const;
};

/// Returns the number of slices of `elem`. If `zero_is_unknown`, a count of 0 is a node as well: a
/// quirk of TensorFlow.
SliceCount slice_count(const Tensor& elem, bool zero_is_unknown, Site site);

/// Converts the elements of a call to tensors. Throws ValueError if there are none, or for a
/// scalar.
std::vector<Tensor> element_tensors(const std::vector<Operand>& elems, const char* op, Site site);

/// Returns the first size that all elements have. Throws ValueError if they differ.
Dim common_first_size(const std::vector<Tensor>& elems, const char* op, Site site);

/// Returns element `index` of each array.
std::vector<Tensor> read_all(const std::vector<TensorArray>& arrays, const ScalarOperand& index,
                             Site site);

/// Returns the stacked arrays, whose first size is `count`.
std::vector<Tensor> stack_all(const std::vector<TensorArray>& arrays, Dim count, Site site);

/// Throws ValueError unless a function returned `wanted` values.
void check_result_count(std::size_t found, std::size_t wanted, const char* op, Site site);

}  // namespace towerflow
