#include "core/graph/gradient_registry.h"

#include <fmt/format.h>

#include <mutex>

#include "core/graph/graph.h"
#include "core/graph/nearest.h"
#include "core/graph/op_def.h"

namespace towerflow {
namespace {

/// Returns whether the op of this name defines its gradient, or declares that it has none.
bool op_has_gradient(const std::string& name) {
  const OpDef* def = OpRegistry::global().find(name);
  if (def == nullptr) return false;
  const auto* none = std::get_if<NoGradient>(&def->gradient);
  return none == nullptr || none->declared;
}

}  // namespace

struct GradientRegistry::State {
  struct Entry {
    OpGradient gradient;
    Site site;
  };
  std::mutex mutex;
  std::map<std::string, Entry> entries;
};

GradientRegistry::GradientRegistry() : state_(std::make_unique<State>()) {}
GradientRegistry::~GradientRegistry() = default;

GradientRegistry& GradientRegistry::global() {
  static auto* registry = new GradientRegistry;  // lives as long as the process
  return *registry;
}

void GradientRegistry::add(const std::string& name, OpGradient gradient, Site site) {
  if (op_has_gradient(name)) {
    throw KeyError(
        fmt::format("Registering two gradients with name '{}'! (It is the gradient of the op with "
                    "that name)",
                    name),
        {.site = site,
         .hint = "use another name and map the op to it with graph.gradient_override_map"});
  }
  const std::lock_guard lock(state_->mutex);
  const auto [it, added] =
      state_->entries.try_emplace(name, State::Entry{std::move(gradient), site});
  if (!added) {
    throw KeyError(fmt::format("Registering two gradients with name '{}'! (Previous registration "
                               "was at {})",
                               name, it->second.site.text()),
                   {.site = site, .hint = "names of gradients are global: use another one"});
  }
}

const OpGradient* GradientRegistry::find(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->entries.find(name);
  return it == state_->entries.end() ? nullptr : &it->second.gradient;
}

std::vector<std::string> GradientRegistry::names() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, entry] : state_->entries) names.push_back(name);
  return names;
}

RegisterGradient::RegisterGradient(const std::string& op_type, GradientRule rule, Site site) {
  GradientRegistry::global().add(op_type, std::move(rule), site);
}

void NotDifferentiable(const std::string& op_type, Site site) {
  GradientRegistry::global().add(
      op_type, NoGradient{fmt::format("'{}' is registered as not differentiable", op_type)}, site);
}

const OpGradient* gradient_function(const Node& node) {
  if (node.inputs.empty()) {
    static const OpGradient none{NoGradient{"it has no inputs"}};
    return std::holds_alternative<NoGradient>(node.op->gradient) ? &node.op->gradient : &none;
  }
  if (!node.gradient_op_type.empty()) {
    const auto& own = node.graph->extension<GraphGradients>().by_name;
    const auto it = own.find(node.gradient_op_type);
    if (it != own.end()) return &it->second;
  }
  const std::string& name = node.gradient_op_type.empty() ? node.op->name : node.gradient_op_type;
  const bool by_op = node.gradient_op_type.empty();
  const OpDef* def = by_op ? node.op : OpRegistry::global().find(name);
  if (def != nullptr) {
    const auto* none = std::get_if<NoGradient>(&def->gradient);
    if (none == nullptr || none->declared) return &def->gradient;
  }
  return GradientRegistry::global().find(name);
}

void throw_no_gradient_defined(const Node& node, Site site) {
  const ErrorDetail detail{.site = site, .node = node.name, .op = node.op->name};
  if (node.gradient_op_type.empty()) {
    ErrorDetail full = detail;
    const auto* none = std::get_if<NoGradient>(&node.op->gradient);
    full.hint = fmt::format(
        "{}tf::stop_gradient makes it a constant, tf::RegisterGradient gives "
        "it a gradient",
        none == nullptr ? "" : none->reason + "; ");
    throw LookupError(fmt::format("No gradient defined for operation '{}' (op type: {}).",
                                  node.name, node.op->name),
                      full);
  }
  ErrorDetail full = detail;
  const std::string nearest =
      nearest_hint(node.gradient_op_type, GradientRegistry::global().names());
  full.hint = fmt::format(
      "gradient_override_map maps it to '{}', which was not registered with "
      "tf::RegisterGradient{}{}",
      node.gradient_op_type, nearest.empty() ? "" : "; ", nearest);
  throw LookupError(fmt::format("No gradient defined for operation '{}' (op type: {}): gradient "
                                "registry has no entry for: {}",
                                node.name, node.op->name, node.gradient_op_type),
                    full);
}

}  // namespace towerflow
