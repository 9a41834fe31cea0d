#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/fetch.h"
#include "core/graph/graph.h"

namespace towerflow::report {

/// The towers of a graph, as the names of its nodes tell them.
struct TowersOfGraph {
  int count = 1;
  std::string prefix = "tower";  ///< of the name scopes: tower_0, tower_1, ..
};

/// A value that two graphs have in common. Each list holds one tensor, or that of every tower,
/// whose examples follow one another along `axis`.
struct Counterparts {
  std::string name;  ///< of the first tensor of `a`
  std::vector<Tensor> a, b;
  std::optional<std::size_t> axis{};

  Operation op() const { return a.front().op(); }
};

/// Returns the operations that a run of `fetches` needs, in tape order.
std::vector<Operation> needed_operations(std::span<const Fetch> fetches);

/// The place of an operation in a tower: its number, and the rest of the name.
struct PlaceInTower {
  int tower = 0;
  std::string rest;  ///< "conv1/Conv2D"
};
/// Returns where an operation stands: "resnet_1/tower_1/add" is "add" in tower 1. Nothing for one
/// outside of towers.
std::optional<PlaceInTower> place_in_tower(const std::string& name, const std::string& prefix);

/// Returns the values that the steps of two graphs have in common, in the tape order of the first.
///
/// With as many towers on both sides these are the outputs of operations with the same name, op,
/// dtypes and shapes. Otherwise they are the outputs of the program's operations in the towers,
/// joined over the towers of each side, if their shapes agree in all axes but one and the joined
/// sizes agree in this one. Gradients in towers are left out then: each is of its own tower's loss,
/// whose mean is taken over fewer examples. Values in branches and loops cannot be fetched and are
/// left out.
std::vector<Counterparts> counterparts(std::span<const Fetch> step_a, const TowersOfGraph& towers_a,
                                       std::span<const Fetch> step_b,
                                       const TowersOfGraph& towers_b);

}  // namespace towerflow::report
