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
    throw ValueError(fmt::format("operation '{}' has {} outputs, but output {} was requested",
                                 made.name, made.outputs.size(), index),
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

}  // namespace towerflow
