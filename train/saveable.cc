#include "train/saveable.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/graph/scopes.h"
#include "ops/variables/assign.h"

namespace towerflow::train {
namespace {

class VariableSaveable final : public SaveableObject {
 public:
  VariableSaveable(const Variable& variable, std::string name)
      : SaveableObject(name, {{variable.ref(), name}}), variable_(variable) {}

  Operation restore(const std::vector<Tensor>& restored, Site site) const override {
    const ColocationScope beside(variable_.graph(), &variable_.op().node(), false);
    return assign(variable_, restored.at(0), {}, site).op();
  }

 private:
  Variable variable_;
};

std::string item_name(const SaverItem& item) {
  if (const auto* variable = std::get_if<Variable>(&item)) return variable->op().name();
  return std::get<Saveable>(item)->name();
}

/// Returns the address that identifies an item of a list.
const void* identity_of(const SaverItem& item) {
  if (const auto* variable = std::get_if<Variable>(&item)) return &variable->op().node();
  return std::get<Saveable>(item).get();
}

}  // namespace

SaveableObject::SaveableObject(std::string name, std::vector<SaveSpec> specs)
    : name_(std::move(name)), specs_(std::move(specs)) {}
SaveableObject::~SaveableObject() = default;

Saveable variable_saveable(const Variable& variable, std::string name) {
  return std::make_shared<VariableSaveable>(variable, std::move(name));
}

VarList::VarList(std::initializer_list<SaverItem> items) {
  for (const SaverItem& item : items) items_.emplace_back(item_name(item), item);
}

VarList::VarList(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) items_.emplace_back(variable.op().name(), variable);
}

VarList::VarList(const Collected<Variable>& variables)
    : VarList(static_cast<const std::vector<Variable>&>(variables)) {
  if (variables.empty()) why_empty_ = variables.explain();
}

VarList::VarList(std::initializer_list<NamedItem> named) : items_(named.begin(), named.end()) {}

VarList::VarList(const std::map<std::string, Variable>& named)
    : items_(named.begin(), named.end()) {}

VarList::VarList(const std::map<std::string, SaverItem>& named)
    : items_(named.begin(), named.end()) {}

VarList::VarList(const VarList& other) = default;
VarList::VarList(VarList&& other) noexcept = default;
VarList& VarList::operator=(const VarList& other) = default;
VarList& VarList::operator=(VarList&& other) noexcept = default;
VarList::~VarList() = default;

bool VarList::empty() const { return items_.empty(); }

VarList VarList::all() {
  VarList list(global_variables());
  for (const Saveable& saveable : get_collection<Saveable>(GraphKeys::SAVEABLE_OBJECTS)) {
    list.items_.emplace_back(saveable->name(), saveable);
  }
  return list;
}

std::vector<Saveable> VarList::saveables() const {
  auto sorted = items_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Saveable> saveables;
  std::set<const void*> seen;
  std::set<std::string> keys;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [name, item] = sorted[i];
    if (i > 0 && sorted[i - 1].first == name) {
      throw ValueError(fmt::format("At least two variables have the same name: {}", name));
    }
    if (!seen.insert(identity_of(item)).second) {
      throw ValueError(fmt::format("The same saveable will be restored with two names: {}", name));
    }
    const auto* variable = std::get_if<Variable>(&item);
    saveables.push_back(variable ? variable_saveable(*variable, name) : std::get<Saveable>(item));
    for (const SaveSpec& spec : saveables.back()->specs()) {
      if (!keys.insert(spec.name).second) {
        throw ValueError(fmt::format(
            "'{}' is saved under the key '{}', which another one already uses", name, spec.name));
      }
    }
  }
  return saveables;
}

}  // namespace towerflow::train
