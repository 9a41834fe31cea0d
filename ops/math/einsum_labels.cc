#include "ops/math/einsum_labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow {
namespace {

constexpr std::string_view kEllipsis = "...";

/// Returns the labels of one operand; "..." becomes `hidden` axes.
std::vector<int> labels_of(std::string_view part, std::size_t hidden) {
  std::vector<int> labels;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part.substr(i).starts_with(kEllipsis)) {
      for (std::size_t k = hidden; k > 0; --k) labels.push_back(-static_cast<int>(k));
      i += kEllipsis.size() - 1;
    } else {
      labels.push_back(part[i]);
    }
  }
  return labels;
}

}  // namespace

std::vector<std::string> einsum_parts(std::string_view equation) {
  std::vector<std::string> parts{""};
  for (std::size_t i = 0; i < equation.size(); ++i) {
    const bool arrow = equation.substr(i).starts_with("->");
    if (!arrow && equation[i] != ',') {
      parts.back() += equation[i];
      continue;
    }
    parts.emplace_back();
    if (arrow) ++i;
  }
  return parts;
}

EinsumLabels::EinsumLabels(std::string_view equation, std::span<const std::size_t> ranks) {
  const std::vector<std::string> parts = einsum_parts(equation);
  if (equation.find("->") == std::string_view::npos || parts.size() != ranks.size() + 1) {
    throw ValueError(
        fmt::format("Expected {} inputs in the equation '{}'", ranks.size(), equation));
  }
  std::size_t most_hidden = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool hides = parts[i].find(kEllipsis) != std::string::npos;
    const std::size_t named = parts[i].size() - (hides ? kEllipsis.size() : 0);
    if (hides ? ranks[i] < named : ranks[i] != named) {
      throw ValueError(fmt::format("input {} of the equation '{}' has rank {}, not {}{}", i,
                                   equation, ranks[i], hides ? "at least " : "", named));
    }
    const std::size_t hidden = ranks[i] - named;
    most_hidden = std::max(most_hidden, hidden);
    inputs.push_back(labels_of(parts[i], hidden));
  }
  output = labels_of(parts.back(), most_hidden);
  if (most_hidden > 0 && parts.back().find(kEllipsis) == std::string::npos) {
    throw ValueError(
        fmt::format("the result of the equation '{}' lacks the axes of '...'", equation));
  }
}

std::vector<EinsumAxis> einsum_axes(const EinsumLabels& labels, std::span<const Shape> inputs,
                                    const Shape& output) {
  std::vector<EinsumAxis> axes;
  const auto walk = [&](const std::vector<int>& names, const Shape& shape, std::size_t operand) {
    std::vector<std::int64_t> strides(names.size());
    std::int64_t stride = 1;
    for (std::size_t i = names.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= shape.size(i);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto at = std::find_if(axes.begin(), axes.end(),
                             [&](const EinsumAxis& axis) { return axis.label == names[i]; });
      if (at == axes.end()) at = axes.insert(axes.end(), EinsumAxis{.label = names[i]});
      const std::int64_t size = shape.size(i);
      const bool first = !at->in[0] && !at->in[1] && !at->in[2];
      at->in[operand] = true;
      if (names[i] < 0 && size == 1) continue;  // broadcast: walks nowhere
      if (!first && at->size != size && !(names[i] < 0 && at->size == 1)) {
        throw errors::InvalidArgumentError(
            fmt::format("the sizes of one axis of an einsum differ: {} and {}", at->size, size));
      }
      at->size = size;
      at->stride[operand] += strides[i];
    }
  };
  walk(labels.output, output, 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) walk(labels.inputs[i], inputs[i], i);
  return axes;
}

}  // namespace towerflow
