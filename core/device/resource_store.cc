#include "core/device/resource_store.h"

#include <fmt/format.h>

#include "core/graph/error.h"

namespace towerflow {
namespace {

std::unique_ptr<VariableStorage> make_storage(const std::string& name, MemorySpace space,
                                              DType dtype, const Shape& shape,
                                              const ResourceStore::Allocate& allocate) {
  auto storage = std::make_unique<VariableStorage>();
  storage->name = name;
  storage->space = space;
  storage->value = dtype == DType::string
                       ? Array(dtype, shape)
                       : Array(dtype, shape, allocate(shape.bytes(dtype_size(dtype))));
  return storage;
}

}  // namespace

bool starts_initialized(const Shape& shape) {
  return shape.fully_known() && shape.rank() > 0 && shape.elements() == 0;
}

ResourceStore::~ResourceStore() { shut_down(); }

VariableStorage& ResourceStore::variable(const std::string& name, MemorySpace space, DType dtype,
                                         const Shape& shape, const Allocate& allocate) {
  std::lock_guard lock(mutex_);
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    auto storage = make_storage(name, space, dtype, shape, allocate);
    storage->initialized.store(starts_initialized(shape), std::memory_order_release);
    return *variables_.emplace(name, std::move(storage)).first->second;  // added only when complete
  }
  VariableStorage* storage = found->second.get();
  if (storage->value.dtype() != dtype || storage->value.shape() != shape) {
    throw errors::InvalidArgumentError(
        fmt::format("variable '{}' is {} {} in this session, but the graph now expects {} {}", name,
                    dtype_name(storage->value.dtype()), storage->value.shape().text(),
                    dtype_name(dtype), shape.text()));
  }
  if (storage->space != space) {
    throw errors::InvalidArgumentError(fmt::format(
        "variable '{}' is in memory {} of this session, but a plan expects it in memory {}", name,
        storage->space, space));
  }
  return *storage;
}

VariableStorage& ResourceStore::replica(const std::string& name, MemorySpace space, DType dtype,
                                        const Shape& shape, const Allocate& allocate) {
  std::lock_guard lock(mutex_);
  const std::pair key(name, space);
  const auto found = replicas_.find(key);
  if (found != replicas_.end()) return *found->second;
  return *replicas_.emplace(key, make_storage(name, space, dtype, shape, allocate)).first->second;
}

VariableStorage* ResourceStore::find_variable(const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : it->second.get();
}

std::vector<std::string> ResourceStore::variable_names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, storage] : variables_) names.push_back(name);
  return names;
}

Resource& ResourceStore::resource(std::type_index type, const std::string& name,
                                  const std::function<std::unique_ptr<Resource>()>& make) {
  std::lock_guard lock(mutex_);
  auto& named = resources_[type];
  const auto found = named.find(name);
  if (found != named.end()) return *found->second;
  auto resource = make();
  if (shut_down_) resource->shut_down();
  return *named.emplace(name, std::move(resource)).first->second;
}

Resource* ResourceStore::find_resource(std::type_index type, const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto named = resources_.find(type);
  if (named == resources_.end()) return nullptr;
  const auto it = named->second.find(name);
  return it == named->second.end() ? nullptr : it->second.get();
}

std::string ResourceStore::origin_text(std::string_view bytes) {
  std::lock_guard lock(mutex_);
  std::string text;
  for (auto& [type, named] : resources_) {
    for (auto& [name, resource] : named) {
      const std::string place = resource->origin_text(bytes);
      if (!place.empty()) text += (text.empty() ? "read from " : " or ") + place;
    }
  }
  return text;
}

void ResourceStore::shut_down() {
  std::lock_guard lock(mutex_);
  shut_down_ = true;
  for (auto& [type, named] : resources_) {
    for (auto& [name, resource] : named) resource->shut_down();
  }
}

}  // namespace towerflow
