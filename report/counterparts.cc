#include "report/counterparts.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "core/graph/op_def.h"

namespace towerflow::report {
namespace {

/// Returns whether the value of an output can be fetched and compared.
bool is_comparable(const Tensor& tensor) {
  const Node& node = tensor.node();
  const DType dtype = tensor.dtype();
  return node.fetchable && !tensor.is_ref() && dtype != DType::resource && dtype != DType::invalid;
}

bool same_outputs(const Operation& a, const Operation& b, std::size_t output) {
  const Tensor x = a.output(output), y = b.output(output);
  return x.dtype() == y.dtype() && is_comparable(x) && is_comparable(y);
}

/// Operations by tower and name in it.
using InTowers = std::map<std::pair<int, std::string>, Operation>;

InTowers in_towers(std::span<const Operation> operations, const std::string& prefix) {
  InTowers found;
  for (const Operation& operation : operations) {
    if (operation.node().role != NodeRole::program) continue;
    if (auto place = place_in_tower(operation.name(), prefix)) {
      found.try_emplace({place->tower, std::move(place->rest)}, operation);
    }
  }
  return found;
}

/// Returns an output of an operation in each of `count` towers; nothing if a tower lacks it.
std::vector<Tensor> of_each_tower(const InTowers& operations, const std::string& rest,
                                  const Operation& like, std::size_t output, int count) {
  std::vector<Tensor> tensors;
  for (int tower = 0; tower < count; ++tower) {
    const auto it = operations.find({tower, rest});
    if (it == operations.end() || it->second.type() != like.type() ||
        it->second.num_outputs() != like.num_outputs() || !same_outputs(like, it->second, output)) {
      return {};
    }
    tensors.push_back(it->second.output(output));
  }
  return tensors;
}

/// Returns the sum of the towers' sizes in one axis; -1 if other sizes differ from the first's.
std::int64_t joined_size(const std::vector<Tensor>& tensors, std::size_t axis) {
  std::int64_t sum = 0;
  for (const Tensor& tensor : tensors) {
    const Shape &shape = tensor.shape(), &first = tensors[0].shape();
    if (!shape.fully_known() || shape.rank() != first.rank()) return -1;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (i != axis && shape[i] != first[i]) return -1;
    }
    sum += shape.size(axis);
  }
  return sum;
}

/// Returns the axis along which both lists, joined, have the same shape, if it is the only one.
std::optional<std::size_t> common_axis(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  const Shape &x = a[0].shape(), &y = b[0].shape();
  if (!x.fully_known() || !y.fully_known() || x.rank() != y.rank()) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    bool others_agree = true;
    for (std::size_t i = 0; i < x.rank(); ++i) others_agree &= i == axis || x[i] == y[i];
    const std::int64_t size = joined_size(a, axis);
    if (!others_agree || size < 0 || size != joined_size(b, axis)) continue;
    if (found) return std::nullopt;
    found = axis;
  }
  return found;
}

}  // namespace

std::vector<Operation> needed_operations(std::span<const Fetch> fetches) {
  std::map<int, Operation> needed;
  std::vector<Operation> next;
  const auto add = [&](const Operation& operation) {
    if (needed.try_emplace(operation.node().id, operation).second) next.push_back(operation);
  };
  for (const Fetch& fetch : fetches) add(fetch.operation());
  while (!next.empty()) {
    const Operation operation = next.back();
    next.pop_back();
    for (const Tensor& input : operation.inputs()) add(input.op());
    for (const Operation& awaited : operation.control_inputs()) add(awaited);
  }
  std::vector<Operation> in_order;
  for (const auto& [id, operation] : needed) in_order.push_back(operation);
  return in_order;
}

std::optional<PlaceInTower> place_in_tower(const std::string& name, const std::string& prefix) {
  const std::string start = prefix + "_";
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = name.find('/', at);
    if (end == std::string::npos) return std::nullopt;
    const std::string_view part = std::string_view(name).substr(at, end - at);
    if (part.starts_with(start)) {
      int tower = 0;
      const char* stop = part.data() + part.size();
      const auto [read, error] = std::from_chars(part.data() + start.size(), stop, tower);
      if (error == std::errc{} && read == stop) return PlaceInTower{tower, name.substr(end + 1)};
    }
    at = end + 1;
  }
  return std::nullopt;
}

std::vector<Counterparts> counterparts(std::span<const Fetch> step_a, const TowersOfGraph& towers_a,
                                       std::span<const Fetch> step_b,
                                       const TowersOfGraph& towers_b) {
  const std::vector<Operation> a = needed_operations(step_a), b = needed_operations(step_b);
  std::vector<Counterparts> found;
  if (towers_a.count == towers_b.count) {
    std::map<std::string, Operation> by_name;
    for (const Operation& operation : b) by_name.emplace(operation.name(), operation);
    for (const Operation& operation : a) {
      const auto it = by_name.find(operation.name());
      if (it == by_name.end() || it->second.type() != operation.type() ||
          it->second.num_outputs() != operation.num_outputs()) {
        continue;
      }
      for (std::size_t i = 0; i < operation.num_outputs(); ++i) {
        const Tensor x = operation.output(i), y = it->second.output(i);
        if (!same_outputs(operation, it->second, i) || !x.shape().compatible(y.shape())) continue;
        found.push_back({x.name(), {x}, {y}});
      }
    }
    return found;
  }
  const InTowers in_a = in_towers(a, towers_a.prefix), in_b = in_towers(b, towers_b.prefix);
  for (const Operation& operation : a) {
    const auto place = place_in_tower(operation.name(), towers_a.prefix);
    if (!place || place->tower != 0 || operation.node().role != NodeRole::program) continue;
    for (std::size_t i = 0; i < operation.num_outputs(); ++i) {
      Counterparts both{operation.output(i).name(),
                        of_each_tower(in_a, place->rest, operation, i, towers_a.count),
                        of_each_tower(in_b, place->rest, operation, i, towers_b.count)};
      if (both.a.empty() || both.b.empty()) continue;
      both.axis = common_axis(both.a, both.b);
      if (both.axis) found.push_back(std::move(both));
    }
  }
  return found;
}

}  // namespace towerflow::report
