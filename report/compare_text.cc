#include <fmt/format.h>

#include <algorithm>

#include "report/compare.h"

namespace towerflow::types {
namespace {

std::string distance_text(const ArrayDistance& distance, const Shape& shape) {
  return fmt::format("{} of {} elements differ, by at most {} ulp, {:.2g} of the largest value",
                     distance.different, shape.elements(), distance.ulps, distance.relative);
}

std::string towers_text(const DifferentValue& value) {
  if (!value.tower_a && !value.tower_b) return "";
  if (value.tower_a == value.tower_b && !value.joined) {
    return fmt::format(", in tower {}", *value.tower_a);
  }
  return fmt::format(", in tower {} of A and tower {} of B", value.tower_a.value_or(0),
                     value.tower_b.value_or(0));
}

std::string first_text(const DifferentValue& value, int step) {
  const std::string joined = value.joined ? ", joined over the towers" : "";
  const std::string at = report::index_text(value.shape, value.distance.at);
  std::string text = fmt::format(
      "The first value that differs, in step {}, is\n  {}, op {}, {} {}{}\n  made at {}\n  {}\n"
      "  most{}{}: A has {}, B has {}\n",
      step, value.name, value.op, dtype_name(value.dtype), value.shape.text(), joined,
      value.site.text(), distance_text(value.distance, value.shape), at.empty() ? "" : " at " + at,
      towers_text(value), value.a, value.b);
  if (!value.inputs.empty()) {
    std::vector<std::string> inputs;
    for (const auto& [name, compared] : value.inputs) {
      inputs.push_back(name + (compared ? " (equal)" : " (not compared)"));
    }
    text += fmt::format("  its inputs: {}\n", fmt::join(inputs, ", "));
  }
  text += fmt::format("  {} values before it in the order of the tape are equal, bit for bit.\n",
                      value.equal_before);
  text += value.as_without_fetches
              ? "  These values were fetched in a second run of the step, which left the same bits "
                "in the\n  variables of both sides as the step alone.\n"
              : "  These values were fetched in a second run of the step, which left other bits in "
                "the variables\n  than the step alone: fetches keep operations from being fused. "
                "In the step alone the first\n  difference may be at another operation.\n";
  return text;
}

std::string variables_text(std::vector<DifferentVariable> variables, std::size_t all, int steps) {
  constexpr std::size_t kShown = 10;
  std::stable_sort(variables.begin(), variables.end(),
                   [](const DifferentVariable& a, const DifferentVariable& b) {
                     return a.distance.root_square > b.distance.root_square;
                   });
  std::string text =
      fmt::format("After {} steps {} of {} variables differ", steps, variables.size(), all);
  if (variables.empty()) return text + ".\n";
  std::size_t width = 8;
  const std::size_t shown = std::min(variables.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, variables[i].name.size());
  text += fmt::format("{}:\n  {:{}}  {:>12}  {:>12}  {:>18}\n",
                      shown < variables.size() ? fmt::format("; the {} farthest apart", shown) : "",
                      "variable", width, "elements", "largest, ulp", "norm of difference");
  for (std::size_t i = 0; i < shown; ++i) {
    const ArrayDistance& distance = variables[i].distance;
    text += fmt::format("  {:{}}  {:>12}  {:>12}  {:>18.2g}\n", variables[i].name, width,
                        distance.different, distance.ulps, distance.root_square);
  }
  return text;
}

std::string left_out_text(const std::vector<std::string>& names, const char* side) {
  if (names.empty()) return "";
  return fmt::format("Not compared, since only {} has them in this shape: {}\n", side,
                     fmt::join(names, ", "));
}

}  // namespace

std::string Comparison::text() const {
  std::string text;
  if (equal()) {
    text = fmt::format("All equal, bit for bit, over {} steps: {} variables{}.\n", steps, variables,
                       losses > 0 ? fmt::format(" and {} fetched tensors", losses) : "");
  } else {
    text = first ? first_text(*first, first_step)
                 : fmt::format(
                       "Step {} leaves other bits in the variables, but none of the values "
                       "that both sides have\nand that can be fetched differs.\n",
                       first_step);
    text += variables_text(after, variables, steps);
  }
  return text + left_out_text(only_a, "A") + left_out_text(only_b, "B");
}

}  // namespace towerflow::types
