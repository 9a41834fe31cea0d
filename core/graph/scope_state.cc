#include "core/graph/scope_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/error.h"
#include "core/graph/node.h"

namespace towerflow {

void ScopeState::check_nesting() {
  if (!improper_nesting_) return;
  const auto [outer, inner] = *std::exchange(improper_nesting_, std::nullopt);
  throw RuntimeError(
      fmt::format("Improper nesting of scopes: the {} opened at {} was closed while the {} opened "
                  "at {} was still open inside it.",
                  outer.kind, outer.site.text(), inner.kind, inner.site.text()),
      {.site = outer.site,
       .hint = "let each guard end with its block, or close the inner one first"});
}

void ScopeState::opened(const void* guard, const char* kind, Site site) {
  open_.push_back({guard, kind, site});
}

bool ScopeState::closed(const void* guard) noexcept {
  const auto it = std::find_if(open_.rbegin(), open_.rend(),
                               [&](const OpenGuard& open) { return open.guard == guard; });
  if (it == open_.rend()) return false;
  if (it != open_.rbegin() && !improper_nesting_) improper_nesting_ = {*it, open_.back()};
  open_.erase(std::next(it).base());
  return true;
}

const std::vector<DeviceLevel>* ScopeState::innermost_remembered_devices() const {
  if (!devices.empty() || hidden_devices.empty()) return nullptr;
  const std::size_t place = remembered_devices.empty() ? 0 : remembered_devices.back();
  if (place >= hidden_devices.size() || hidden_devices[place]->empty()) return nullptr;
  return hidden_devices[place];
}

std::string ScopeState::device_of(const Operation& made) const {
  // Innermost first: an outer spec fills in only the missing parts, a function replaces the device.
  Node& node = made.node();
  for (auto level = devices.rbegin(); level != devices.rend(); ++level) {
    if (std::holds_alternative<std::monostate>(*level)) break;
    if (const auto* spec = std::get_if<DeviceSpec>(&*level)) {
      node.device =
          node.device.empty() ? spec->text() : spec->merged(DeviceSpec::parse(node.device)).text();
    } else {
      // Kept as the function spells it, unless an outer level is merged with it.
      std::string chosen = std::get<DeviceFunction>(*level)(made);
      DeviceSpec::parse(chosen);  // throws for an unknown spelling
      node.device = std::move(chosen);
    }
  }
  for (auto other = colocation.rbegin(); other != colocation.rend(); ++other) {
    if (!(*other)->device.empty()) {
      node.device = (*other)->device;
      break;
    }
  }
  return node.device;
}

Distinct<Node*> ScopeState::control_inputs_for(const std::vector<Tensor>& inputs) const {
  Distinct<Node*> found;
  if (control.empty()) return found;
  Distinct<Node*> producers;
  for (const Tensor& input : inputs) producers.add(&input.node());
  for (const ControlLevel& level : control) {
    const bool waits_already =
        std::any_of(producers.values().begin(), producers.values().end(),
                    [&](const Node* producer) { return level.made_inside.contains(producer); });
    if (waits_already) continue;
    for (Node* control_input : level.inputs.values()) {
      if (!producers.contains(control_input)) found.add(control_input);
    }
  }
  return found;
}

}  // namespace towerflow
