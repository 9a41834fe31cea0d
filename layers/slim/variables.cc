#include "layers/slim/variables.h"

#include <algorithm>

namespace towerflow::slim {

CustomGetter model_variable_getter(std::map<std::string, std::string> rename) {
  return [rename = std::move(rename)](const VariableGetter& getter, const std::string& name,
                                      const std::optional<Shape>& shape,
                                      const GetVariableOptions& options) {
    GetVariableOptions listed = options;
    if (!listed.collections) listed.collections.emplace();
    for (const char* key : {GraphKeys::GLOBAL_VARIABLES, GraphKeys::MODEL_VARIABLES}) {
      auto& keys = *listed.collections;
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.emplace_back(key);
    }
    const std::size_t leaf = name.rfind('/') + 1;
    const auto other = rename.find(name.substr(leaf));
    return getter(other == rename.end() ? name : name.substr(0, leaf) + other->second, shape,
                  listed);
  };
}

VariableScopeGuard open_layer_scope(const Args& args, const char* default_name, CustomGetter getter,
                                    Site site) {
  const std::optional<std::string> scope =
      args.scope.given() ? std::optional(args.scope.value()) : std::nullopt;
  return VariableScopeGuard(scope, nullptr,
                            {.default_name = default_name,
                             .custom_getter = std::move(getter),
                             .reuse = args.reuse.or_default(Reuse(std::nullopt))},
                            site);
}

void list_variable(const Variable& variable, const char* kind, const Args& args) {
  if (!variable.valid() || !args.variables_collections.given()) return;
  const std::vector<Variable> parts =
      variable.partitioned() ? variable.parts() : std::vector<Variable>{variable};
  for (const std::string& key : args.variables_collections.value().of(kind)) {
    for (const Variable& part : parts) {
      const auto& items = get_collection_ref(key);
      const bool there = std::any_of(items.begin(), items.end(), [&](const CollectionItem& item) {
        const Variable* one = std::any_cast<Variable>(&item.value);
        return one != nullptr && *one == part;
      });
      if (!there) add_to_collection(key, part);
    }
  }
}

Tensor listed_output(const Tensor& result, const Args& args) {
  if (!args.outputs_collections.given()) return result;
  for (const std::string& key : args.outputs_collections.value().list()) {
    add_to_collection(key, result);
  }
  return result;
}

}  // namespace towerflow::slim
