#include "ops/variables/copies.h"

#include <unordered_map>

#include "core/graph/graph.h"

namespace towerflow {
namespace {

/// The storages of the copies of a graph's variables.
struct VariableCopies {
  std::unordered_map<const Node*, std::vector<Tensor>> of;
};

}  // namespace

void add_copy(const Variable& variable, const Variable& copy) {
  variable.graph().extension<VariableCopies>().of[&variable.ref().node()].push_back(copy.ref());
}

std::vector<Tensor> copies_of(const Tensor& ref) {
  const auto& copies = ref.graph().extension<VariableCopies>().of;
  const auto found = copies.find(&ref.node());
  return found == copies.end() ? std::vector<Tensor>{} : found->second;
}

}  // namespace towerflow
