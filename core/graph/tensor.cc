#include "core/graph/tensor.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/graph/graph_mutex.h"
#include "core/graph/node.h"
#include "core/graph/op_def.h"

namespace towerflow {

Node& Operation::node() const {
  if (node_ == nullptr) {
    throw ValueError("an Operation was used before it was assigned",
                     {.hint = "assign it inside the scope that makes it, before its first use"});
  }
  return *node_;
}

const std::string& Operation::name() const { return node().name; }
const std::string& Operation::type() const { return node().op->name; }
const std::string& Operation::device() const { return node().device; }
Graph& Operation::graph() const { return *node().graph; }
const Attrs& Operation::attrs() const { return node().attrs; }
Site Operation::site() const { return node().site; }
std::size_t Operation::num_inputs() const { return node().inputs.size(); }
std::size_t Operation::num_outputs() const { return node().outputs.size(); }
Tensor Operation::input(std::size_t index) const { return node().inputs.at(index); }

Tensor Operation::output(std::size_t index) const {
  Node& made = node();
  if (index >= made.outputs.size()) {
    throw ValueError(fmt::format("operation '{}' has {} outputs, asked for number {}", made.name,
                                 made.outputs.size(), index),
                     {.site = made.site, .node = made.name, .op = made.op->name});
  }
  return Tensor(&made, static_cast<int>(index));
}

std::vector<Tensor> Operation::inputs() const { return node().inputs; }

std::vector<Tensor> Operation::outputs() const {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < num_outputs(); ++i) all.push_back(output(i));
  return all;
}

std::vector<Operation> Operation::control_inputs() const {
  std::vector<Operation> all;
  for (Node* control : node().control_inputs) all.emplace_back(control);
  return all;
}

Node& Tensor::node() const {
  if (node_ == nullptr) {
    throw ValueError("a Tensor was used before it was assigned",
                     {.hint = "assign it inside the scope that makes it, before its first use"});
  }
  return *node_;
}

std::string Tensor::name() const { return fmt::format("{}:{}", node().name, index_); }
DType Tensor::dtype() const { return node().outputs[static_cast<std::size_t>(index_)].dtype; }
bool Tensor::is_ref() const { return node().outputs[static_cast<std::size_t>(index_)].is_ref; }
const Shape& Tensor::shape() const {
  return node().outputs[static_cast<std::size_t>(index_)].shape;
}
const std::string& Tensor::device() const { return node().device; }
Graph& Tensor::graph() const { return *node().graph; }

void Tensor::set_shape(const Shape& shape, Site site) {
  OutputSpec& output = node().outputs[static_cast<std::size_t>(index_)];
  const auto merged = output.shape.merged(shape);
  if (!merged) {
    throw ValueError(fmt::format("Tensor's shape {} is not compatible with supplied shape {}",
                                 output.shape.text(), shape.text()),
                     {.site = site, .node = node().name, .op = node().op->name});
  }
  const std::lock_guard lock(graph().mutex());
  output.shape = *merged;
}

namespace {

/// "'tower_0/loss:0' with respect to 'w:0'", "" where nobody knows.
std::string subject_of(const GradientOrigin* origin) {
  if (origin == nullptr) return "";
  return fmt::format("of '{}' with respect to '{}' ", origin->y.name(), origin->x.name());
}

/// Of an error about a gradient that is used at `site`.
ErrorDetail detail_of(const GradientOrigin* origin, Site site, const std::string& advice) {
  if (origin == nullptr) return {.site = site, .hint = advice};
  std::string asked = "it was asked for ";
  if (!origin->scope.empty()) asked += fmt::format("in name scope '{}' ", origin->scope);
  return {.site = site.known() ? site : origin->site,
          .node = origin->x.op().name(),
          .op = origin->x.op().type(),
          .hint = fmt::format("{}at {}; {}", asked, origin->site.text(), advice)};
}

}  // namespace

const std::shared_ptr<const GradientOrigin>& OptionalGradient::origin() const {
  return has_value() ? base()->origin_ : origin_;
}

OptionalGradient OptionalGradient::with_origin(std::shared_ptr<const GradientOrigin> origin) const {
  OptionalGradient result(*this);
  (has_value() ? static_cast<std::optional<Gradient>&>(result)->origin_ : result.origin_) =
      std::move(origin);
  return result;
}

const Gradient& OptionalGradient::value(Site site) const {
  if (has_value()) return *base();
  const GradientOrigin* of = origin_.get();
  throw ValueError(
      fmt::format("None values not supported: the gradient {}is absent", subject_of(of)),
      detail_of(of, site,
                "leave it out where has_value() is false, or write tf::zeros_like(variable) in its "
                "place; tf::why_none(y, x) says why there is none"));
}

Tensor Gradient::dense(Site site) const {
  if (const auto* tensor = std::get_if<Tensor>(&value_)) return *tensor;
  const GradientOrigin* of = origin_.get();
  throw TypeError(
      fmt::format("gradient {} {}is IndexedSlices, not a dense Tensor", name(), subject_of(of)),
      detail_of(of, site, "tf::convert_to_tensor(*gradient) makes it dense"));
}

const IndexedSlices& Gradient::slices(Site site) const {
  if (const auto* slices = std::get_if<IndexedSlices>(&value_)) return *slices;
  const GradientOrigin* of = origin_.get();
  throw TypeError(
      fmt::format("gradient {} {}is a dense Tensor, not IndexedSlices", name(), subject_of(of)),
      detail_of(of, site, "is_dense() tells the two apart"));
}

Tensor Gradient::representative() const {
  return is_dense() ? std::get<Tensor>(value_) : std::get<IndexedSlices>(value_).values;
}

}  // namespace towerflow
