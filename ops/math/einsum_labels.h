#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/shape.h"

namespace towerflow {

/// An equation of op Einsum, "ab...,bc->ac...", for operands of known rank. Labels are letters;
/// the axes of "..." are -1, -2, .. from the last one on, so that they align from the right.
struct EinsumLabels {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;

  /// Throws ValueError if the equation does not fit the ranks.
  EinsumLabels(std::string_view equation, std::span<const std::size_t> ranks);
};

/// One label of an equation, with its size and the strides at which it walks through the operands
/// and the result. A label that occurs twice has the sum of both strides.
struct EinsumAxis {
  int label = 0;
  std::int64_t size = 1;
  std::int64_t stride[3] = {0, 0, 0};  ///< first input, second input, output
  bool in[3] = {false, false, false};
};

/// Returns the labels in the order in which they occur in the output, then in the inputs. Throws
/// InvalidArgumentError for sizes that differ.
std::vector<EinsumAxis> einsum_axes(const EinsumLabels& labels, std::span<const Shape> inputs,
                                    const Shape& output);

/// Splits "ab,c->d" into its parts: {"ab", "c", "d"}, the output last.
std::vector<std::string> einsum_parts(std::string_view equation);

}  // namespace towerflow
