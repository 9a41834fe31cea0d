// The gradient of op Einsum, as in TensorFlow's linalg_grad.py.
#include <algorithm>
#include <optional>

#include "core/graph/op_builder.h"
#include "ops/array/broadcast_to.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/einsum_kernels.h"
#include "ops/math/einsum_labels.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

constexpr std::string_view kDots = "...";

Tensor einsum_of(const std::vector<Tensor>& inputs, const std::string& equation, Site site) {
  return OpBuilder("Einsum", "", site, {})
      .inputs(inputs, "inputs")
      .attrs(EinsumAttrs{equation})
      .output();
}

bool has_label(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

/// Returns the labels of `labels`, each once, that are neither in `others` nor dots.
std::string labels_without(const std::string& labels, const std::string& others) {
  std::string rest;
  for (const char label : labels) {
    if (label != '.' && !has_label(others, label) && !has_label(rest, label)) rest += label;
  }
  return rest;
}

/// Returns the axis of a label, negative if it comes after the dots.
int axis_from_label(const std::string& labels, char label) {
  const std::size_t dots = labels.find(kDots);
  const std::size_t at = labels.find(label);
  if (dots == std::string::npos || at < dots) return static_cast<int>(at);
  return static_cast<int>(at) - static_cast<int>(labels.size());
}

/// The gradient of an einsum of one operand that sums over the labels `reduced`.
Tensor gradient_of_sum(const Tensor& dy, const std::string& output, const std::string& input,
                       const Tensor& sizes, const std::string& reduced, Site site) {
  std::vector<int> axes;
  std::vector<Tensor> reduced_sizes;
  for (const char label : reduced) {
    axes.push_back(axis_from_label(input, label));
    reduced_sizes.push_back(take_index(sizes, axes.back(), site));
  }
  const auto distinct = [](const std::string& labels) { return labels_without(labels, "").size(); };
  const auto named = [](const std::string& labels) {
    return static_cast<std::size_t>(
        std::count_if(labels.begin(), labels.end(), [](char label) { return label != '.'; }));
  };
  const bool repeats = distinct(input) < named(input) || distinct(output) < named(output);
  std::string kept;
  for (const char label : input) {
    if (!has_label(reduced, label)) kept += label;
  }
  if (!repeats && kept == output) {
    const Tensor at = convert_operand(dy.graph(), Operand(axes, site), "axes", std::nullopt);
    const Tensor narrow =
        dy.graph()
            .add(
                {.op = "ReducedShape", .name = "ReducedShape", .inputs = {sizes, at}, .site = site})
            .output(0);
    return broadcast_to(reshape(dy, narrow, {}, site), sizes, {}, site);
  }
  // The sums are undone in front of the other axes, then the axes are put in place.
  const Tensor own_sizes = shape(dy, {}, site);
  const Tensor before = stack(reduced_sizes, {}, site);
  const Tensor wide = concat({before, own_sizes}, 0, {}, site);
  const Tensor ones_before =
      ones(Shape{static_cast<std::int64_t>(reduced.size())}, {.dtype = DType::int32}, site);
  const Tensor narrow = concat({ones_before, own_sizes}, 0, {}, site);
  const Tensor repeated = broadcast_to(reshape(dy, narrow, {}, site), wide, {}, site);
  return einsum_of({repeated}, reduced + output + "->" + input, site);
}

/// One operand of an einsum of two, and its labels.
struct EinsumSide {
  Tensor operand;
  std::string labels;
  Tensor sizes;
};

Tensor gradient_of_side(const Tensor& dy, const EinsumSide& own, const EinsumSide& other,
                        const std::string& output, Site site) {
  const std::string reduced = labels_without(own.labels, output + other.labels);
  std::string kept;
  for (const char label : own.labels) {
    if (!has_label(reduced, label)) kept += label;
  }
  const Tensor product =
      einsum_of({dy, other.operand}, output + "," + other.labels + "->" + kept, site);
  if (reduced.empty()) return product;
  return gradient_of_sum(product, kept, own.labels, own.sizes, reduced, site);
}

/// The axes of an operand behind the dots: from `begin` to `end`, which counts from the end.
struct HiddenAxes {
  int begin = 0;
  std::optional<int> end = 0;

  explicit HiddenAxes(const std::string& labels) {
    const std::size_t dots = labels.find(kDots);
    if (dots == std::string::npos) return;
    begin = static_cast<int>(dots);
    const std::size_t rest = labels.size() - dots - kDots.size();
    end = rest > 0 ? std::optional(-static_cast<int>(rest)) : std::nullopt;
  }
  std::vector<std::int64_t> sizes(const Shape& shape) const {
    const std::vector<std::int64_t> all = shape.sizes();
    return {all.begin() + begin, all.end() + end.value_or(0)};
  }
};

Tensor summed_over(const Tensor& gradient, const HiddenAxes& hidden, const Tensor& axes,
                   const Tensor& sizes, Site site) {
  const Tensor at = Operand(hidden.begin, site) + Operand(axes, site);
  return reshape(reduce_sum(gradient, at, {}, site), sizes, {}, site);
}

}  // namespace

std::vector<OptionalGradient> einsum_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  std::vector<std::string> parts = einsum_parts(op.attrs().as<EinsumAttrs>().equation);
  const std::string output = parts.back();
  if (op.num_inputs() == 1) {
    const Tensor sizes = shape(op.input(0), {}, site);
    const std::string reduced = labels_without(parts[0], output);
    if (reduced.empty()) return {einsum_of({dy}, output + "->" + parts[0], site)};
    return {gradient_of_sum(dy, output, parts[0], sizes, reduced, site)};
  }
  const bool hides = output.find(kDots) != std::string::npos;
  std::vector<EinsumSide> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    if (hides && parts[i].find(kDots) == std::string::npos) parts[i] += kDots;
    sides.push_back({op.input(i), parts[i], shape(op.input(i), {}, site)});
  }
  const Tensor dx = gradient_of_side(dy, sides[0], sides[1], output, site);
  const Tensor dz = gradient_of_side(dy, sides[1], sides[0], output, site);
  if (!hides) return {dx, dz};
  const HiddenAxes of_x(parts[0]), of_y(parts[1]);
  const Shape &x = op.input(0).shape(), &y = op.input(1).shape();
  if (x.fully_known() && y.fully_known() && of_x.sizes(x) == of_y.sizes(y)) return {dx, dz};
  const Tensor x_sizes = take_range(sides[0].sizes, of_x.begin, of_x.end, site);
  const Tensor y_sizes = take_range(sides[1].sizes, of_y.begin, of_y.end, site);
  const Operation axes = op.graph().add({.op = "BroadcastGradientArgs",
                                         .name = "BroadcastGradientArgs",
                                         .inputs = {x_sizes, y_sizes},
                                         .site = site});
  return {summed_over(dx, of_x, axes.output(0), sides[0].sizes, site),
          summed_over(dz, of_y, axes.output(1), sides[1].sizes, site)};
}

}  // namespace towerflow
