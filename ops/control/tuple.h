#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/gradient.h"

namespace towerflow {

struct TupleOptions {
  std::vector<Operation> control_inputs{};  ///< operations that must have run as well
  std::string name{};
};

/// Returns the same tensors, each available only when all of them are. Absent ones stay absent.
///
/// grads    dy of each
/// errors   ValueError: no tensor is present
/// source   tf.tuple
std::vector<std::optional<Tensor>> tuple(const std::vector<std::optional<Tensor>>& tensors,
                                         TupleOptions options = {}, Site site = Site::current());
std::vector<Tensor> tuple(const std::vector<Tensor>& tensors, TupleOptions options = {},
                          Site site = Site::current());

inline std::vector<Tensor> tuple(std::initializer_list<Tensor> tensors, TupleOptions options = {},
                                 Site site = Site::current()) {
  return tuple(std::vector<Tensor>(tensors), std::move(options), site);
}

/// The same for gradients; of slices, only the values wait.
std::vector<OptionalGradient> tuple(const std::vector<OptionalGradient>& gradients,
                                    TupleOptions options = {}, Site site = Site::current());
template <std::same_as<Gradient> T>
std::vector<OptionalGradient> tuple(const std::vector<T>& gradients, TupleOptions options = {},
                                    Site site = Site::current()) {
  return tuple(GradientList(gradients), std::move(options), site);
}

struct WithDependenciesOptions {
  std::string name{};
};

/// Returns `output` once all `dependencies` have run: an Identity named "control_dependency" on the
/// device of `output`. (control_flow_ops.with_dependencies)
Tensor with_dependencies(const std::vector<Operation>& dependencies, const Tensor& output,
                         WithDependenciesOptions options = {}, Site site = Site::current());

}  // namespace towerflow
