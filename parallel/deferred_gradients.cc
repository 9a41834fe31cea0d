#include "parallel/deferred_gradients.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/graph/scopes.h"
#include "ops/control/group.h"
#include "ops/variables/assign.h"
#include "ops/variables/initializers.h"

namespace towerflow::parallel {
namespace {

/// Throws unless a tensor has the same known shape in every step, as a variable needs it. `what` is
/// kept: "the gradient of 'w:0'".
void check_kept_shape(const Tensor& tensor, const std::string& what, bool of_slices, Site site) {
  if (tensor.shape().fully_known()) return;
  throw ValueError(
      fmt::format("{} cannot be kept for the next step: {} has shape {}", what, tensor.name(),
                  tensor.shape().text()),
      {.site = site,
       .node = tensor.op().name(),
       .hint = of_slices
                   ? "it is IndexedSlices: give the batch a fixed size, or make it dense with "
                     "tf::convert_to_tensor before it is deferred"
                   : "give the batch a fixed size, or call set_shape on the tensor"});
}

}  // namespace

Tensor DeferredGradients::previous_value(const Tensor& value, const std::string& name, Site site) {
  check_kept_shape(value, "the value of " + value.op().name(), false, site);
  Graph& graph = value.graph();
  // Devices may be requested by functions, which send variables elsewhere.
  std::optional<DeviceScope> no_other, beside;
  if (!value.device().empty()) {
    no_other.emplace(graph, std::monostate{}, site);
    beside.emplace(graph, device_level(value.device(), site), site);
  }
  const Shape& shape = value.shape();
  const Variable variable =
      make_variable(zeros_initializer(), {.dtype = value.dtype(), .shape = &shape},
                    {.trainable = false,
                     .collections = std::vector<std::string>{GraphKeys::LOCAL_VARIABLES},
                     .name = "deferred/" + name,
                     .home = VariableHome::device},
                    site);
  kept_.push_back({variable, value});
  // A read of its own. Devices that use the variable's first read would keep replicas, and a step
  // would end with their refresh, where this value travels in the next step.
  const NameScope inside(graph, variable.op().name() + "/", site);
  const ColocationScope beside_it(graph, &variable.op().node(), true);
  return variable.read_value(site);
}

std::vector<GradAndVar> DeferredGradients::previous(const std::vector<GradAndVar>& computed,
                                                    Site site) {
  std::vector<GradAndVar> pairs;
  for (const GradAndVar& pair : computed) {
    if (!pair.grad) {
      pairs.push_back(pair);
      continue;
    }
    const RoleScope role(pair.var.graph(), NodeRole::gradient);
    const std::string name = pair.var.op().name();
    const std::string what = fmt::format("the gradient of '{}'", pair.var.name());
    const Gradient& now = *pair.grad;
    OptionalGradient before;
    if (now.is_dense()) {
      check_kept_shape(now.dense(), what, false, site);
      before = previous_value(now.dense(), name, site);
    } else {
      IndexedSlices slices = now.slices();
      check_kept_shape(slices.values, what, true, site);
      check_kept_shape(slices.indices, what, true, site);
      slices.values = previous_value(slices.values, name + "/values", site);
      slices.indices = previous_value(slices.indices, name + "/indices", site);
      before = slices;
    }
    pairs.push_back({before.with_origin(pair.grad.origin()), pair.var});
  }
  return pairs;
}

Operation DeferredGradients::keep(Site site) {
  if (kept_.empty()) {
    throw ValueError("there are no gradients to keep for the next step",
                     {.site = site,
                      .hint = "gradients of Optimizer::compute_gradients and minimize can be "
                              "deferred; a program that calls tf::gradients itself passes its "
                              "pairs to DeferredGradients::previous"});
  }
  Graph& graph = kept_[0].variable.graph();
  const NameScope scope(graph, "keep_gradients", site);
  std::vector<Operation> stored;
  for (const Kept& kept : std::exchange(kept_, {})) {
    const ColocationScope beside(graph, &kept.variable.op().node(), true);
    stored.push_back(assign(kept.variable, kept.value, {}, site).op());
  }
  return group(stored, {.name = scope.name()}, site);
}

}  // namespace towerflow::parallel
